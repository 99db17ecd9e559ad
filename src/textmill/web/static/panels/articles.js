// Articles: search by a text, browse, and the lists of all methods beside each other.
import { h, bar, field, say, tell } from "../dom.js";
import { get, send, wordsOf } from "../server.js";

const LONG = 1500; // letters of a text that go into an address
const GRADES = [["yes", "Yes"], ["partly", "Partly"], ["no", "No"]];

export async function view({ values, contents, go }) {
  if (values.has("id")) return article(values, contents);
  const area = h("textarea", { rows: 3, name: "text", dir: "auto" });
  area.value = values.get("text") ?? "";
  const results = h("div", {});
  const find = async (event) => {
    event.preventDefault();
    if (area.value.length <= LONG) return go(`/articles?${new URLSearchParams({ text: area.value })}`);
    try {
      draw(results, await send("POST", "/search", { text: area.value, k: 10 }));
    } catch (fault) {
      tell(wordsOf(fault), results);
    }
  };
  const form = h("form", { onsubmit: find }, field("Articles like this text", area, "Ctrl+Enter searches."), h("button", { type: "submit" }, "Search"));
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  if (area.value.trim()) draw(results, await get("/search", { text: area.value, k: 10 }));
  const state = contents.collection ? await get("/articles/upkeep").catch(() => null) : null;
  const content = [...(state ? upkeep(state) : []), form, results, ...(await browse(values, go))];
  return { title: "Articles", content, focus: values.has("text") ? area : null };
}

function upkeep(state) {
  const share = (value) => `${(100 * value).toFixed(1)} %`;
  const facts = `${state.documents.toLocaleString("en")} articles in ${state.shards} ${state.shards === 1 ? "shard" : "shards"}; ` +
    `${share(state.new_documents)} came after the models were trained, ${share(state.unknown_words)} of their words are unknown`;
  return [state.advice ? h("p", { class: "fault", role: "note" }, `The models are old: ${state.advice}`) : null, h("p", { class: "upkeep" }, facts)].filter(Boolean);
}

function draw(results, answer) {
  results.replaceChildren(h("h2", {}, "Found"), h("div", { class: "methods" }, answer.methods.map((method) => list(method))));
  say(answer.methods.map((method) => `${method.name}: ${method.neighbors.length}`).join(", "));
}

function list(method, judge = null) {
  const items = method.neighbors.map((one) => h("li", {},
    h("a", { href: `/articles?${new URLSearchParams({ id: one.id })}` }, h("bdi", {}, one.title || one.id)),
    h("span", { class: "score" }, ` ${one.score.toFixed(4)}`), judge ? judge(one) : null));
  const body = items.length ? h("ol", {}, items) : h("p", {}, method.reason ?? "Nothing was found.");
  return h("section", {}, h("h3", {}, method.name), body);
}

async function browse(values, go) {
  const first = Math.max(0, Number(values.get("first") ?? 0) || 0);
  const page = await get("/articles", { search: values.get("search"), first, count: 20 });
  const search = h("input", { type: "search", name: "search", value: values.get("search") ?? "" });
  const look = (event) => {
    event.preventDefault();
    go(`/articles?${new URLSearchParams({ search: search.value })}`);
  };
  const step = (start, title) => h("a", { href: `/articles?${new URLSearchParams({ search: search.value, first: start })}` }, title);
  const steps = [first > 0 ? step(Math.max(0, first - 20), "Previous") : null, first + 20 < page.total ? step(first + 20, "Next") : null];
  return [h("h2", {}, "Browse"), h("form", { onsubmit: look }, field("Title or id", search), h("button", { type: "submit" }, "Show")),
    h("p", { class: "counts" }, `${page.total.toLocaleString("en")} articles`),
    h("ul", { class: "titles" }, page.articles.map((one) => h("li", {}, h("a", { href: `/articles?${new URLSearchParams({ id: one.id })}` }, h("bdi", {}, one.title || one.id))))),
    h("p", { class: "steps" }, steps.filter(Boolean))];
}

async function article(values, contents) {
  const id = values.get("id");
  const [found, judged] = await Promise.all([get("/article", { id, k: values.get("k") ?? 10 }), get("/articles/judgments", { id })]);
  const held = contents.collection ? await Promise.all([get("/articles/text", { id }), get("/articles/mixtures", { id })]).catch(() => null) : null;
  const grades = new Map(judged.map((one) => [`${one.method}\n${one.neighbor}`, one.grade]));
  const judge = (method) => (one) => contents.read_only ? null : form(id, method.name, one, grades.get(`${method.name}\n${one.id}`));
  return {
    title: found.title || found.id,
    content: [h("p", { class: "id" }, found.id), ...(held ? shown(...held) : []), h("h2", {}, "Similar articles"),
      h("div", { class: "methods" }, found.methods.map((method) => list(method, judge(method)))),
      ...(contents.collection ? again(id) : []), ...(held && held[0].fields.authors ? reviewers(id) : []), h("p", {}, h("a", { href: "/articles" }, "All articles"))],
  };
}

// Lists that follow the judgments: towards what is relevant, away from what is not.
function again(id) {
  const results = h("div", { class: "feedback" });
  const look = async () => {
    try {
      const answer = await get("/articles/feedback", { id, k: 10 });
      const used = `Towards ${answer.like.length} relevant and away from ${answer.unlike.length} irrelevant articles.`;
      results.replaceChildren(h("h2", {}, "More like those judged relevant"), h("p", {}, used), h("div", { class: "methods" }, answer.methods.map((method) => list(method))));
      say(used);
    } catch (fault) {
      say(`not found: ${fault.message}`);
    }
  };
  return [h("p", {}, h("button", { type: "button", class: "again", onclick: look }, "Search again with the judgments")), results];
}

// People whose own articles are near: who could review this one.
function reviewers(id) {
  const results = h("div", { class: "reviewers" });
  const look = async () => {
    try {
      const people = await get("/articles/reviewers", { id, k: 5 });
      const items = people.map((one) => h("li", {}, h("bdi", {}, one.name), h("span", { class: "score" }, ` ${one.votes.toFixed(4)} `),
        one.articles.slice(0, 3).flatMap((other) => [h("a", { href: `/articles?${new URLSearchParams({ id: other })}` }, h("bdi", {}, other)), " "])));
      results.replaceChildren(h("h2", {}, "Who could review it"), people.length ? h("ol", {}, items) : h("p", {}, "Nobody who may be asked has an article near to it."));
      say(`${people.length} people`);
    } catch (fault) {
      say(`not found: ${fault.message}`);
    }
  };
  return [h("p", {}, h("button", { type: "button", class: "who", onclick: look }, "Who could review it?")), results];
}

function shown(article, mixtures) {
  const facts = Object.entries({ ...article.fields, source: article.source }).filter(([, value]) => value);
  const charts = mixtures.map((one) => h("section", { class: "mixture" }, h("h2", {}, `Topics (${one.model})`), h("dl", {}, one.parts.flatMap((part) => [
    h("dt", {}, part.name), h("dd", {}, part.value, bar(part.share))]))));
  return [h("dl", {}, facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, h("bdi", {}, value))])),
    h("div", { class: "text article", dir: "auto", tabindex: "0", role: "region", "aria-label": "Text" }, article.text), ...charts];
}

function form(id, method, neighbor, grade) {
  let now = grade ?? null;
  const buttons = GRADES.map(([value, words]) => h("button", { type: "button", "aria-pressed": String(now === value), onclick: () => store(value) }, words));
  async function store(value) {
    const next = now === value ? null : value;
    try {
      await send("PUT", "/articles/judgments", { id, neighbor: neighbor.id, method, grade: next });
      now = next;
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(GRADES[i][0] === now)));
      say(next === null ? "judgment taken back" : "stored");
    } catch (fault) {
      say(`not stored: ${fault.message}`);
    }
  }
  return h("div", { class: "grades", role: "group", "aria-label": `Is ${neighbor.title || neighbor.id} relevant?` }, h("span", {}, "Relevant?"), buttons);
}

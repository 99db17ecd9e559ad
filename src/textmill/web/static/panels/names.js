// Pairs of names to review. Keys: arrows move, a accepts, r rejects, d does not know, x clears, / searches.
import { h, field, say } from "../dom.js";
import { get, send } from "../server.js";

const PAGE = 50;
const LABELS = [["pos", "Accept", "a"], ["neg", "Reject", "r"], ["unk", "Don't know", "d"]];
const STATES = [["all", "all"], ["open", "undecided"], ["pos", "accepted"], ["neg", "rejected"], ["unk", "don't know"]];

export async function view({ rest, values, contents, go }) {
  const name = rest[0] ?? contents.panels.names[0];
  if (name === undefined) return { content: [h("p", {}, "No pairs are served.")] };
  const address = `/names/${encodeURIComponent(name)}`;
  const status = values.get("status") ?? "all";
  const first = Math.max(0, Number(values.get("first") ?? 0) || 0);
  const page = await get(address, { status, first, count: PAGE, search: values.get("search") });
  const state = h("select", { name: "status" }, STATES.map(([value, words]) => h("option", { value, selected: value === status }, words)));
  const search = h("input", { type: "search", name: "search", value: values.get("search") ?? "" });
  const look = (event) => {
    event?.preventDefault();
    go(`${address}?${new URLSearchParams({ status: state.value, search: search.value })}`);
  };
  state.addEventListener("change", look);
  const counts = h("p", { class: "counts" }, words(page.counts));
  const body = h("tbody", {});
  const rows = page.pairs.map((pair) => row(pair, (label) => decide(pair, label)));
  body.append(...rows);

  async function decide(pair, label) {
    const next = pair.label === label ? null : label;
    try {
      const now = await send("PUT", address, { id1: pair.id1, id2: pair.id2, label: next });
      pair.label = next;
      paint(rows[page.pairs.indexOf(pair)], pair);
      counts.textContent = words(now);
      say(next === null ? "decision taken back" : "stored");
    } catch (fault) {
      say(`not stored: ${fault.message}`);
    }
  }

  const keys = (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, textarea")) return;
    if (event.key === "/") {
      event.preventDefault();
      search.focus();
      return;
    }
    const here = rows.indexOf(event.target.closest("tr"));
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      rows[Math.max(0, Math.min(rows.length - 1, here + step))]?.focus();
    }
    if (here < 0) return;
    const label = LABELS.find(([, , key]) => key === event.key)?.[0];
    if (label) decide(page.pairs[here], label);
    if (event.key === "x" && page.pairs[here].label) decide(page.pairs[here], page.pairs[here].label);
  };
  const heads = ["Score", "Name", "Name", "Decision"].map((head) => h("th", { scope: "col" }, head));
  const list = h("div", { class: "wide", onkeydown: keys }, h("table", { class: "pairs" },
    h("caption", {}, `Pairs ${page.pairs.length ? first + 1 : 0} to ${first + page.pairs.length} of ${page.total}`),
    h("thead", {}, h("tr", {}, heads)), body));
  const link = (start, title) => h("a", { href: `${address}?${new URLSearchParams({ status, search: search.value, first: start })}` }, title);
  const steps = [first > 0 ? link(Math.max(0, first - PAGE), "Previous") : null, first + PAGE < page.total ? link(first + PAGE, "Next") : null];
  return {
    title: `Names: ${name}`,
    content: [
      h("form", { onsubmit: look }, field("Show", state), field("Search", search), h("button", { type: "submit" }, "Search")),
      h("p", { class: "keys" }, "Keys in the table: ", ...["↓ ↑ move", "a accept", "r reject", "d don't know", "x clear", "/ search"].map((key) => h("kbd", {}, key))),
      counts, list, h("p", { class: "steps" }, steps.filter(Boolean)),
      h("p", {}, h("a", { href: `/api/v1${address}/gold`, download: "gold.tsv" }, "Download decisions as gold")),
    ],
    focus: rows[0] ?? null,
  };
}

function words(counts) {
  return `${counts.pos} accepted, ${counts.neg} rejected, ${counts.unk} don't know, ${counts.open} open`;
}

function row(pair, decide) {
  const buttons = LABELS.map(([label, title]) => h("button", { type: "button", "data-label": label, "aria-pressed": "false", onclick: () => decide(label) }, title));
  const made = h("tr", { tabindex: "0" }, h("td", { class: "number" }, pair.score.toFixed(4)), name(pair.left, pair.id1), name(pair.right, pair.id2), h("td", { class: "decide" }, buttons));
  paint(made, pair);
  return made;
}

function paint(made, pair) {
  made.dataset.label = pair.label ?? "";
  for (const button of made.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.label === pair.label));
}

function name(parts, id) {
  const shown = parts.map((part) => h(part.differs ? "u" : "span", { class: part.strength > 0 && !part.differs ? `s${Math.round(4 * part.strength)}` : null }, part.text));
  return h("td", {}, h("div", { class: "name", dir: "auto" }, shown), h("div", { class: "id" }, id));
}

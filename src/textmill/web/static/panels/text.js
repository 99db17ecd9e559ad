// A pasted text, and what every model says of it. The link keeps the text behind the #, which no browser sends.
import { h, bar, field, marked, say, tell } from "../dom.js";
import { send, wordsOf } from "../server.js";

const KEPT = 20000; // letters of a text that a link can hold

export async function view({ go }) {
  const text = fromLink();
  const area = h("textarea", { rows: 8, name: "text", dir: "auto" });
  area.value = text;
  const analyze = (event) => {
    event.preventDefault();
    if (area.value.length <= KEPT) go(`/text#text=${encodeURIComponent(area.value)}`);
    else shown(area.value, results).catch((fault) => tell(wordsOf(fault), results));
  };
  const results = h("div", {});
  const form = h("form", { onsubmit: analyze }, field("Text", area, "Ctrl+Enter analyzes it."), h("button", { type: "submit" }, "Analyze"));
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  if (text) await shown(text, results);
  return { title: "Text", content: [form, results], focus: area };
}

function fromLink() {
  if (!location.hash.startsWith("#text=")) return "";
  try {
    return decodeURIComponent(location.hash.slice(6));
  } catch {
    return "";
  }
}

async function shown(text, results) {
  const analyses = await send("POST", "/text", { text });
  results.replaceChildren(...analyses.map((analysis) => section(text, analysis)));
  say(`${analyses.length} analyses`);
}

function section(text, analysis) {
  const place = analysis.file === "built in" ? "" : ` (${analysis.file})`;
  const head = h("h2", {}, analysis.title + place);
  if (analysis.fault) return h("section", {}, head, h("p", { class: "fault" }, analysis.fault));
  const labels = [...new Set(analysis.spans.map((span) => span.label))];
  const color = (span) => (span.label ? `c${labels.indexOf(span.label) % 8}` : "plain");
  const facts = analysis.facts.length ? h("dl", {}, analysis.facts.flatMap((fact) => [
    h("dt", {}, fact.name), h("dd", {}, fact.value, fact.share === null ? null : bar(fact.share, { number: !fact.value.endsWith("%") }))])) : null;
  const spans = analysis.spans.length ? marked(text, analysis.spans, color) : null;
  return h("section", {}, head, facts, spans);
}

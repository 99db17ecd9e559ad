// Elements from plain values. Texts become text nodes, never markup, so nothing that a file or a person wrote can run.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

export function field(label, control, hint) {
  const id = control.id || `field-${label.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  control.id = id;
  return h("div", { class: "field" }, h("label", { for: id }, label), control, hint ? h("small", {}, hint) : null);
}

export function table(caption, heads, rows) {
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell)))))));
}

// A share from 0 to 1 as a bar and, where nothing beside it says it, a number; <meter> would say "good" or "bad" by its color.
export function bar(share, { number = true } = {}) {
  const width = Math.max(0, Math.min(1, share));
  return h("span", { class: "bar" },
    s("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      s("rect", { class: "empty", width: 100, height: 8 }), s("rect", { class: "full", width: 100 * width, height: 8 })),
    number ? h("span", {}, `${(100 * share).toFixed(1)} %`) : null);
}

// A text with some of its parts marked; places count code points. Parts must not overlap and must rise.
export function marked(text, spans, classOf) {
  const letters = [...text];
  const out = h("div", { class: "text", dir: "auto" });
  let at = 0;
  for (const span of spans) {
    if (span.begin < at) continue;
    out.append(letters.slice(at, span.begin).join(""));
    const sure = span.confidence === null || span.confidence === undefined ? "" : ` ${(100 * span.confidence).toFixed(0)} %`;
    const title = [span.label + sure, span.note].filter(Boolean).join(": ");
    const mark = h("mark", { class: classOf(span), title: title || null }, letters.slice(span.begin, span.end).join(""));
    if (span.label) mark.append(h("sub", {}, span.label + sure));
    out.append(mark);
    at = span.end;
  }
  out.append(letters.slice(at).join(""));
  return out;
}

export function say(words) {
  document.getElementById("status").textContent = words;
}

// A fault in the place where the answer would have been, and aloud.
export function tell(words, place) {
  place.replaceChildren(h("p", { class: "fault", role: "alert" }, words));
}

// The topics of a model: a map, and the words of each.
import { h, bar, s, say } from "../dom.js";
import { get } from "../server.js";

export async function view({ rest, contents, go }) {
  const name = rest[0] ?? contents.panels.topics[0];
  if (name === undefined) return { content: [h("p", {}, "No topic models are served.")] };
  const address = `/topics/${encodeURIComponent(name)}`;
  const answer = await get(address, { words: rest[1] === undefined ? 10 : 30 });
  const link = (topic) => `${address}/${topic.number}`;
  if (rest[1] !== undefined) {
    const topic = answer.topics.find((one) => String(one.number) === rest[1]);
    if (!topic) return { title: name, content: [h("p", { class: "fault" }, "The model has no such topic.")] };
    return oneTopic(name, answer, topic, address, link);
  }
  const most = Math.max(...answer.topics.map((topic) => topic.strength ?? 0), 1e-12);
  const rows = answer.topics.map((topic) => h("tr", {}, h("th", { scope: "row" }, h("a", { href: link(topic) }, `Topic ${topic.number}`)),
    h("td", {}, topic.words.map((word) => word.term).join(", ")), h("td", {}, topic.strength === null ? "" : topic.strength.toFixed(3))));
  const list = h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Topics" }, h("table", {}, h("caption", {}, "Topics and their first words"),
    h("thead", {}, h("tr", {}, ["Topic", "Words", "Strength"].map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, rows)));
  const note = answer.note ? h("p", {}, `No map: ${answer.note}`) : map(answer.topics, most, link, go);
  const others = contents.panels.topics.filter((one) => one !== name).map((one) => h("li", {}, h("a", { href: `/topics/${encodeURIComponent(one)}` }, one)));
  return { title: `Topics: ${name}`, content: [note, list, others.length ? h("ul", {}, others) : null].filter(Boolean) };
}

function oneTopic(name, answer, topic, address, link) {
  const total = Math.max(...topic.words.map((word) => Math.abs(word.weight)), 1e-12);
  const words = h("dl", {}, topic.words.flatMap((word) => [h("dt", {}, word.term), h("dd", {}, `${word.weight.toPrecision(3)} `, bar(Math.abs(word.weight) / total))]));
  const near = answer.topics.filter((other) => other !== topic && other.x !== null)
    .map((other) => [Math.hypot(other.x - topic.x, other.y - topic.y), other]).sort((a, b) => a[0] - b[0]).slice(0, 5)
    .map(([, other]) => h("li", {}, h("a", { href: link(other) }, `Topic ${other.number}: ${other.words.slice(0, 4).map((word) => word.term).join(", ")}`)));
  say("");
  return {
    title: `Topic ${topic.number} of ${name}`,
    content: [h("p", {}, h("a", { href: address }, "All topics")), h("h2", {}, "Words"), words,
      near.length ? h("h2", {}, "Near topics") : null, near.length ? h("ul", {}, near) : null].filter(Boolean),
  };
}

function map(topics, most, link, go) {
  const xs = topics.map((topic) => topic.x), ys = topics.map((topic) => topic.y);
  const span = Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys), 1e-9);
  const place = (value, low) => 60 + (580 * (value - low)) / span;
  const marks = topics.map((topic) => {
    const x = place(topic.x, Math.min(...xs)), y = place(topic.y, Math.min(...ys));
    const radius = 6 + 18 * Math.sqrt((topic.strength ?? most) / most);
    const words = topic.words.slice(0, 3).map((word) => word.term).join(" ");
    const node = s("a", { href: link(topic), "aria-label": `Topic ${topic.number}: ${words}` }, s("circle", { cx: x, cy: y, r: radius }),
      s("text", { x, y: y + 4, "text-anchor": "middle", class: "number" }, String(topic.number)), s("text", { x, y: y + radius + 14, "text-anchor": "middle" }, words));
    node.addEventListener("click", (event) => {
      event.preventDefault();
      go(link(topic));
    });
    return node;
  });
  return h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Map of the topics" },
    s("svg", { viewBox: "0 0 700 700", class: "map", role: "group", "aria-label": "Map: near topics have similar words" }, ...marks));
}

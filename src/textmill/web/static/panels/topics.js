// The topics of a model: a map, and the words of each.
import { h, bar, s, say } from "../dom.js";
import { get } from "../server.js";

const LINES = 8; // topics that are drawn over time

export async function view({ rest, contents, go }) {
  const name = rest[0] ?? contents.panels.topics[0];
  if (name === undefined) return { content: [h("p", {}, "No topic models are served.")] };
  const address = `/topics/${encodeURIComponent(name)}`;
  const answer = await get(address, { words: rest[1] === undefined ? 10 : 30 });
  const link = (topic) => `${address}/${topic.number}`;
  if (rest[1] !== undefined) {
    const topic = answer.topics.find((one) => String(one.number) === rest[1]);
    if (!topic) return { title: name, content: [h("p", { class: "fault" }, "The model has no such topic.")] };
    const documents = contents.collection ? await get(`${address}/documents`, { topic: topic.number, k: 10 }).catch(() => []) : [];
    return oneTopic(name, answer, topic, address, link, documents);
  }
  const most = Math.max(...answer.topics.map((topic) => topic.strength ?? 0), 1e-12);
  const rows = answer.topics.map((topic) => h("tr", {}, h("th", { scope: "row" }, h("a", { href: link(topic) }, `Topic ${topic.number}`)),
    h("td", {}, topic.words.map((word) => word.term).join(", ")), h("td", {}, topic.strength === null ? "" : topic.strength.toFixed(3))));
  const list = h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Topics" }, h("table", {}, h("caption", {}, "Topics and their first words"),
    h("thead", {}, h("tr", {}, ["Topic", "Words", "Strength"].map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, rows)));
  const note = answer.note ? h("p", {}, `No map: ${answer.note}`) : map(answer.topics, most, link, go);
  const others = contents.panels.topics.filter((one) => one !== name).map((one) => h("li", {}, h("a", { href: `/topics/${encodeURIComponent(one)}` }, one)));
  const time = contents.collection ? await get(`${address}/trends`).then((trends) => drawTrends(trends, answer.topics, link)).catch(() => null) : null;
  return { title: `Topics: ${name}`, content: [note, time, list, others.length ? h("ul", {}, others) : null].filter(Boolean) };
}

function oneTopic(name, answer, topic, address, link, documents) {
  const total = Math.max(...topic.words.map((word) => Math.abs(word.weight)), 1e-12);
  const words = h("dl", {}, topic.words.flatMap((word) => [h("dt", {}, word.term), h("dd", {}, `${word.weight.toPrecision(3)} `, bar(Math.abs(word.weight) / total, { number: false }))]));
  const near = answer.topics.filter((other) => other !== topic && other.x !== null)
    .map((other) => [Math.hypot(other.x - topic.x, other.y - topic.y), other]).sort((a, b) => a[0] - b[0]).slice(0, 5)
    .map(([, other]) => h("li", {}, h("a", { href: link(other) }, `Topic ${other.number}: ${other.words.slice(0, 4).map((word) => word.term).join(", ")}`)));
  const texts = documents.map((one) => h("li", {}, h("a", { href: `/articles?${new URLSearchParams({ id: one.id })}` }, h("bdi", {}, one.title || one.id)), bar(one.share)));
  say("");
  return {
    title: `Topic ${topic.number} of ${name}`,
    content: [h("p", {}, h("a", { href: address }, "All topics")), h("h2", {}, "Words"), words,
      near.length ? h("h2", {}, "Near topics") : null, near.length ? h("ul", {}, near) : null,
      texts.length ? h("h2", {}, "Documents") : null, texts.length ? h("ol", {}, texts) : null].filter(Boolean),
  };
}

function drawTrends(trends, topics, link) {
  const strongest = topics.map((topic, t) => [trends.shares.reduce((sum, row) => sum + row[t], 0), t]).sort((a, b) => b[0] - a[0]).slice(0, LINES).map(([, t]) => t);
  const top = Math.max(...trends.shares.flatMap((row) => strongest.map((t) => row[t])), 1e-9);
  const x = (i) => 50 + (600 * i) / Math.max(1, trends.periods.length - 1), y = (share) => 270 - (240 * share) / top;
  const lines = strongest.map((t, place) => s("g", { class: `line l${place}` }, s("title", {}, `Topic ${t + 1}: ${topics[t].words.slice(0, 3).map((word) => word.term).join(" ")}`),
    s("polyline", { fill: "none", points: trends.shares.map((row, i) => `${x(i)},${y(row[t])}`).join(" ") }),
    s("text", { x: 655, y: y(trends.shares.at(-1)[t]) + 4 }, String(t + 1))));
  const ends = [s("text", { x: 50, y: 292 }, trends.periods[0]), s("text", { x: 650, y: 292, "text-anchor": "end" }, trends.periods.at(-1)), s("text", { x: 4, y: 34 }, `${(100 * top).toFixed(0)} %`), s("text", { x: 4, y: 274 }, "0 %")];
  const rows = trends.periods.map((period, i) => h("tr", {}, h("th", { scope: "row" }, period), h("td", {}, String(trends.documents[i])), strongest.map((t) => h("td", {}, `${(100 * trends.shares[i][t]).toFixed(1)} %`))));
  const heads = ["Time", "Documents"].map((head) => h("th", { scope: "col" }, head)).concat(strongest.map((t) => h("th", { scope: "col" }, h("a", { href: link(topics[t]) }, `Topic ${t + 1}`))));
  return h("section", {}, h("h2", {}, `Over time (${trends.field})`), s("svg", { viewBox: "0 0 700 300", class: "trends", role: "img", "aria-label": "Shares of the strongest topics over time; the table below has the numbers" }, ...lines, ...ends),
    h("details", {}, h("summary", {}, "Numbers"), h("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Shares over time" }, h("table", {}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)))));
}

function map(topics, most, link, go) {
  const xs = topics.map((topic) => topic.x), ys = topics.map((topic) => topic.y);
  const wide = Math.max(...xs) - Math.min(...xs), high = Math.max(...ys) - Math.min(...ys);
  const scale = Math.min(560 / Math.max(wide, 1e-9), 400 / Math.max(high, 1e-9)); // one scale: distances mean something
  const height = 100 + scale * high;
  const marks = topics.map((topic) => {
    const x = 120 + scale * (topic.x - Math.min(...xs)), y = 40 + scale * (topic.y - Math.min(...ys));
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
    s("svg", { viewBox: `0 0 800 ${height.toFixed(0)}`, class: "map", role: "group", "aria-label": "Map: near topics have similar words" }, ...marks));
}

// What is in the files.
import { h, table } from "../dom.js";
import { get } from "../server.js";

const number = (value) => value.toLocaleString("en");

export async function view({ rest }) {
  if (rest.length) return one(rest[0]);
  const files = await get("/models");
  const rows = files.map((file) => [
    h("a", { href: `/models/${encodeURIComponent(file.name)}` }, file.name), file.kind, file.panels.join(", ") || "none",
    h("span", { class: "number" }, number(file.bytes)), file.fault || "",
  ]);
  return { content: [table("Files", ["Name", "Kind", "Panels", "Bytes", "Fault"], rows)] };
}

async function one(name) {
  const file = await get(`/models/${encodeURIComponent(name)}`);
  const content = [file.fault ? h("p", { class: "fault" }, file.fault) : null, ...facts(file.facts)].filter(Boolean);
  const panels = file.panels.map((panel) => h("a", { href: panel === "articles" || panel === "text" ? `/${panel}` : `/${panel}/${encodeURIComponent(name)}` }, panel));
  if (panels.length) content.push(h("p", {}, "Look at it in: ", ...panels.flatMap((link, i) => (i ? [", ", link] : [link]))));
  if (file.arrays.length) {
    content.push(table("Arrays", ["Name", "Type", "Shape"], file.arrays.map((array) => [array.name, array.dtype, array.shape.map(number).join(" × ")])));
  }
  return { title: file.name, content };
}

function facts(model) {
  const rows = [["kind", model.kind + (model.fitted ? "" : ", not fitted")]];
  if (model.purpose) rows.push(["purpose", model.purpose]);
  const counts = (values) => Object.entries(values).map(([noun, count]) => `${number(count)} ${noun}`).join(", ");
  if (Object.keys(model.trained_on).length) rows.push(["trained on", counts(model.trained_on)]);
  if (Object.keys(model.size).length) rows.push(["size", counts(model.size)]);
  if (model.labels.length) rows.push(["labels", model.labels.join(", ")]);
  for (const [name, value] of Object.entries(model.options)) rows.push([name, value]);
  const list = h("dl", {}, rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  const parts = Object.entries(model.parts).map(([name, part]) =>
    h("details", {}, h("summary", {}, `${name}: ${part.kind}`), ...facts(part)));
  return [list, ...parts];
}

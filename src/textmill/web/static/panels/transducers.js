// A machine: its picture, and what it makes of a string.
import { h, field, say, table } from "../dom.js";
import { get, send } from "../server.js";

export async function view({ rest, values, contents, go }) {
  const name = rest[0] ?? contents.panels.transducers[0];
  if (name === undefined) return { content: [h("p", {}, "No transducers are served.")] };
  const address = `/transducers/${encodeURIComponent(name)}`;
  const machine = await get(address, { key: values.get("key"), token_type: values.get("token_type") });
  const type = machine.token_type;
  const text = h("input", { type: "text", name: "text", value: values.get("text") ?? "", autocomplete: "off", spellcheck: "false" });
  const k = h("input", { type: "number", name: "k", min: 1, max: 100, value: values.get("k") ?? 5 });
  const labels = h("select", { name: "token_type" }, ["utf8", "byte", "symbol"].map((kind) => h("option", { value: kind, selected: kind === type }, kind)));
  const key = h("select", { name: "key" }, machine.keys.map((one) => h("option", { value: one, selected: one === machine.key }, one)));
  const ask = (event) => {
    event?.preventDefault();
    const query = new URLSearchParams({ text: text.value, k: k.value, token_type: labels.value });
    if (machine.keys.length > 1) query.set("key", key.value);
    go(`${address}?${query}`);
  };
  const form = h("form", { onsubmit: ask }, machine.keys.length > 1 ? field("Machine", key) : null, field("String", text),
    field("Outputs at most", k), field("Labels are", labels), h("button", { type: "submit" }, "Apply"));
  key.addEventListener("change", ask);
  labels.addEventListener("change", ask);
  const outputs = h("div", {});
  if (values.has("text")) {
    const found = await send("POST", `${address}/apply`, { text: text.value, k: Number(k.value), key: machine.key, token_type: type });
    outputs.append(found.length
      ? table(`Outputs for “${text.value}”`, ["Output", "Weight"], found.map((one) => [h("bdi", {}, one.text), one.weight]))
      : h("p", {}, `There is no path for “${text.value}”.`));
    say(`${found.length} outputs`);
  }
  const facts = h("details", {}, h("summary", {}, "Properties"), h("dl", {}, Object.entries(machine.facts).flatMap(([fact, value]) => [h("dt", {}, fact), h("dd", {}, value)])));
  const others = contents.panels.transducers.filter((one) => one !== name).map((one) => h("li", {}, h("a", { href: `/transducers/${encodeURIComponent(one)}` }, one)));
  const content = [form, outputs, picture(machine), facts];
  if (others.length) content.push(h("h2", {}, "Other machines"), h("ul", {}, others));
  return { title: `${name}`, content, focus: values.has("text") ? text : null };
}

function picture(machine) {
  if (machine.picture === null) return h("p", {}, `No picture: ${machine.fault}`);
  const parsed = new DOMParser().parseFromString(machine.picture, "image/svg+xml").documentElement;
  const drawn = document.importNode(parsed, true);
  drawn.setAttribute("role", "img");
  drawn.setAttribute("aria-label", `Picture of ${machine.key}: ${machine.facts["states"] ?? ""} states`);
  return h("div", { class: "wide picture", tabindex: "0", role: "region", "aria-label": "Picture" }, drawn);
}

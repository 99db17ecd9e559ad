// The frame: which panel an address means, links without a reload, log-in, faults.
import { h, field, say } from "./dom.js";
import { Fault, get, send, wordsOf } from "./server.js";

const PANELS = { articles: "Articles", topics: "Topics", text: "Text", names: "Names", transducers: "Transducers", models: "Models" };
const main = document.getElementById("main");
let contents = null;
let turn = 0;

export function go(address, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  return show();
}

async function show(focus = true) {
  const mine = ++turn;
  say(""); // what a panel says of its answer is heard until the next view
  const words = location.pathname.split("/").filter(Boolean).map(decodeURIComponent);
  try {
    contents = contents || (await get(""));
    drawPanels(words[0]);
    const panel = words[0] || null;
    const title = panel === null ? "What is served" : PANELS[panel];
    const view = panel === null ? overview() : await draw(panel, words.slice(1));
    if (mine !== turn) return;
    document.title = `${view.title || title} – textmill`;
    const head = h("h1", { tabindex: "-1" }, view.title || title);
    main.replaceChildren(head, ...view.content);
    if (focus) (view.focus || head).focus();
  } catch (fault) {
    if (mine !== turn) return;
    if (fault instanceof Fault && fault.code === 401) logIn(fault.message);
    else wrong(fault);
  }
}

async function draw(panel, rest) {
  if (!(panel in PANELS)) throw new Fault(404, "there is no such page");
  const { view } = await import(`./panels/${panel}.js`);
  return view({ rest, values: new URLSearchParams(location.search), contents, go });
}

function overview() {
  const items = Object.entries(contents.panels).filter(([, files]) => files.length);
  const content = items.map(([panel, files]) => h("section", { class: "card" },
    h("h2", {}, h("a", { href: `/${panel}` }, PANELS[panel])),
    h("ul", {}, files.map((file) => h("li", {}, h("a", { href: linkTo(panel, file) }, file))))));
  const faults = Object.entries(contents.faults).map(([name, words]) => h("p", { class: "fault" }, `${name}: ${words}`));
  return { content: [...faults, h("div", { class: "cards" }, content)] };
}

function linkTo(panel, file) {
  return panel === "articles" || panel === "text" ? `/${panel}` : `/${panel}/${encodeURIComponent(file)}`;
}

function drawPanels(current) {
  const there = Object.keys(PANELS).filter((panel) => panel === "text" || contents.panels[panel].length);
  document.getElementById("panels").replaceChildren(...there.map((panel) =>
    h("li", {}, h("a", { href: `/${panel}`, "aria-current": panel === current ? "page" : null }, PANELS[panel]))));
}

function wrong(fault) {
  main.replaceChildren(h("h1", { tabindex: "-1" }, "This did not work"), h("p", { class: "fault", role: "alert" }, wordsOf(fault)),
    h("p", {}, h("button", { type: "button", onclick: () => show() }, "Try again")));
  main.firstChild.focus();
}

function logIn(words) {
  const token = h("input", { type: "password", autocomplete: "off", required: true });
  const enter = async (event) => {
    event.preventDefault();
    try {
      await send("POST", "/session", { token: token.value });
      await show();
    } catch (fault) {
      say(fault.message);
      token.focus();
    }
  };
  main.replaceChildren(h("h1", { tabindex: "-1" }, "Token"), h("p", {}, words),
    h("form", { onsubmit: enter }, field("Token", token), h("button", { type: "submit" }, "Enter")));
  token.focus();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || "plain" in link.dataset || link.hasAttribute("download")) return;
  event.preventDefault();
  if (link.getAttribute("href") === "#main") { // without the address: what stands behind its # is a text
    main.querySelector("h1").focus();
    main.scrollIntoView();
    return;
  }
  go(link.href);
});
addEventListener("popstate", () => show());

async function start() {
  const token = location.hash.startsWith("#token=") ? decodeURIComponent(location.hash.slice(7)) : null;
  if (token !== null) {
    history.replaceState(null, "", location.pathname + location.search); // the token stays out of the history
    try {
      await send("POST", "/session", { token });
    } catch (fault) {
      logIn(fault.message);
      return;
    }
  }
  await show(false);
}

start();

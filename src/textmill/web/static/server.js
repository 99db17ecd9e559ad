// Requests to the server this page came from, and to no other.

export class Fault extends Error {
  constructor(code, words) {
    super(words);
    this.code = code;
  }
}

// What a person is told of a request that failed.
export function wordsOf(fault) {
  return fault instanceof Fault ? fault.message : "the server cannot be reached; is it running?";
}

async function answered(response) {
  if (response.ok) return response.status === 204 ? null : response.json();
  let words = `the server answered ${response.status}`;
  try {
    words = (await response.json()).error || words;
  } catch { /* no JSON: a proxy in between */ }
  throw new Fault(response.status, words);
}

export function get(path, values = {}) {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== ""));
  const tail = query.size ? `?${query}` : "";
  return fetch(`/api/v1${path}${tail}`, { credentials: "same-origin" }).then(answered);
}

export function send(method, path, body) {
  const headers = { "content-type": "application/json" };
  return fetch(`/api/v1${path}`, { method, headers, body: JSON.stringify(body), credentials: "same-origin" }).then(answered);
}

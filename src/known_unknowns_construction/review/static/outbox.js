// Requests to the server. A decision is kept in the browser until the server has confirmed that it is on the disk.

/** An answer of the server that is not a success. */
export class Refusal extends Error {}

export async function get(address) {
  const response = await fetch(address, { headers: { accept: "application/json" } });
  const reply = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refusal(text(reply, response.status));
  return reply;
}

function text(reply, status) {
  if (typeof reply.detail === "string") return reply.detail;
  return `the server refused the request (${status})`;
}

/** Returns 32 hexadecimal digits. They name a decision, so that sending it twice does not write it twice. */
export function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Outbox {
  /** `told` receives true while a request waits for a server that does not answer. */
  constructor(name, told) {
    this.name = name;
    this.told = told;
  }

  /** The request that a browser or a server left unconfirmed, or null. */
  get left() {
    try {
      return JSON.parse(localStorage.getItem(this.name));
    } catch {
      return null;
    }
  }

  /** Sends a request until the server confirms or refuses it. */
  async send(address, body) {
    this.#keep(JSON.stringify({ address, body }));
    for (let wait = 250; ; wait = Math.min(wait * 2, 4000)) {
      try {
        const response = await fetch(address, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        });
        const reply = await response.json().catch(() => ({}));
        if (response.status === 507) this.told(text(reply, 507));
        else if (response.status === 401) this.told("the server has another token; open the address that it printed");
        else {
          this.#keep(null);
          this.told("");
          if (!response.ok) throw new Refusal(text(reply, response.status));
          return reply;
        }
      } catch (error) {
        if (error instanceof Refusal) throw error;
        this.told("the server does not answer; start it again with the same command");
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  #keep(value) {
    try {
      if (value === null) localStorage.removeItem(this.name);
      else localStorage.setItem(this.name, value);
    } catch {
      // Without storage, an unconfirmed decision is lost only if the browser dies too.
    }
  }
}

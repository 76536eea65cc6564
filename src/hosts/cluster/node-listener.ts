import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { PEERS_PATH, PEERS_PREFIX } from "./dial.ts";
import { Incoming, type IncomingEvents } from "./incoming.ts";
import type { Settings } from "./options.ts";

/** Where other nodes come in: strangers until they have shown that they know the secret. */
export class NodeListener {
  readonly #settings: Settings;
  readonly #events: IncomingEvents;
  readonly #strangers = new Set<Incoming>();
  #closed = false;
  #undoQuiet: (() => void) | undefined;
  #unsaid = 0;

  constructor(settings: Settings, events: IncomingEvents) {
    this.#settings = settings;
    this.#events = {
      ...events,
      admitted: (link) => {
        this.#strangers.delete(link);
        return events.admitted(link);
      },
      closed: (link, why) => {
        this.#strangers.delete(link);
        if (link.admitted) events.closed(link, why);
        else if (!this.#closed) this.#refused(why);
      },
    };
  }

  /** Whether the path is one of the cluster's: then it is answered here. */
  handle(request: Http2ServerRequest, response: Http2ServerResponse): boolean {
    // CONNECT has no path.
    const path = request.method === "CONNECT" ? "" : (request.url.split("?", 1)[0] ?? "");
    if (!path.startsWith(PEERS_PREFIX)) return false;
    const status = this.#statusOf(path, request.method);
    if (status === 200) {
      this.#strangers.add(new Incoming(this.#settings, response.stream, this.#events));
    } else {
      request.resume();
      response.writeHead(status).end();
      // Whatever else would be sent up is not waited for.
      response.stream.close();
    }
    return true;
  }

  close(): void {
    this.#closed = true;
    this.#undoQuiet?.();
    for (const stranger of this.#strangers) stranger.close("left");
  }

  #statusOf(path: string, method: string): number {
    if (path !== PEERS_PATH) return 404;
    if (method !== "POST") return 405;
    return this.#closed || this.#strangers.size >= this.#settings.limits.greetings ? 503 : 200;
  }

  /** Strangers may come as often as they like; what is written of them may not. */
  #refused(why: string): void {
    if (this.#undoQuiet !== undefined) {
      this.#unsaid += 1;
      return;
    }
    const { log, clock, limits } = this.#settings;
    log("warning", { event: "peer-refused", why, unsaid: this.#unsaid });
    this.#unsaid = 0;
    this.#undoQuiet = clock.after(limits.greetMs, () => {
      this.#undoQuiet = undefined;
    });
  }
}

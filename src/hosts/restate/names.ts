// Owns: names of virtual objects on the server. Does not own: names of state keys (stored-actor.ts, archive.ts).
import type { ActorId } from "../../core/contract/index.ts";
import { encodedKeyOf, kindOf } from "../../core/contract/internal.ts";
import type { Handler } from "./durable-context.ts";

/** The names of virtual objects and handlers on the server. */
export class Names {
  /** Precedes every name, so that several systems can share a server. */
  readonly prefix: string;

  constructor(prefix = "") {
    this.prefix = prefix;
  }

  /** The virtual object of a kind. Its keys are the actors' keys, as encoded in their ids. */
  actors(kind: string): string {
    return `${this.prefix}actor-${kind}`;
  }

  archives(kind: string): string {
    return `${this.prefix}archive-${kind}`;
  }

  get map(): string {
    return `${this.prefix}troupe-map`;
  }

  /** Rows of indexes over the contents of actors. */
  get index(): string {
    return `${this.prefix}troupe-index`;
  }

  get stream(): string {
    return `${this.prefix}troupe-stream`;
  }

  /** Imported messages and timers that have not been started. */
  get importQueue(): string {
    return `${this.prefix}troupe-waiting`;
  }

  get control(): string {
    return `${this.prefix}troupe-control`;
  }

  actor(id: ActorId, handler: string): Handler {
    return { object: this.actors(kindOf(id)), key: encodedKeyOf(id), handler };
  }

  archive(id: ActorId, handler: string): Handler {
    return { object: this.archives(kindOf(id)), key: encodedKeyOf(id), handler };
  }
}

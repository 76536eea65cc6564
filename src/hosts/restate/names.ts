import type { ActorId } from "../../core/contract/index.ts";
import { encodedKeyOf, kindOf } from "../../core/contract/internal.ts";
import type { Handler } from "./durable-context.ts";

/** What things are called on the server. */
export class Names {
  /** Before every name: systems that share a server keep apart by it. */
  readonly prefix: string;

  constructor(prefix = "") {
    this.prefix = prefix;
  }

  /** The virtual object a kind of actor is; its keys are the actors' keys as their ids write them. */
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

  /** What came from another place and is to be set going. */
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

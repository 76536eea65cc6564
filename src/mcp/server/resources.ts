import type { Bag, Viewer } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import type { Complete, Registry } from "../source/index.ts";
import type { ServerContext, Surroundings } from "./context.ts";
import { checkDefinition } from "./definition-check.ts";
import { handling } from "./handling.ts";
import { completing, describedBy, type Item } from "./item.ts";
import { Shelf } from "./shelf.ts";

/** A resource: a fixed URI, or a template of RFC 6570 (`notes://{id}`; `files://{+path}`, which may hold slashes) whose variables reach the handler, decoded. */
export interface ResourceDefinition<U extends string> extends Item {
  readonly uri: U;
  readonly mimeType?: string;
  readonly annotations?: Bag;
  /** In bytes, where it is known ahead. */
  readonly size?: number;
  /** The values of a template's one variable, of which each is listed as a resource by that name. Tell `server.relist()` when they change. */
  list?(viewer: Viewer): readonly string[];
  /** Values for a variable of the template. */
  readonly complete?: { readonly [K in keyof Variables<U>]?: Complete };
}

/** The variables of a template, all text. */
export type Variables<U extends string> = string extends U ? Readonly<Record<string, string>> : { readonly [K in NamesIn<U>]: string };

type NamesIn<U extends string> = U extends `${string}{${infer Name}}${infer Rest}` ? Named<Name> | NamesIn<Rest> : never;
type Named<Name extends string> = Name extends `+${infer N}` ? N : Name;

/** Text, `blob(bytes)`, an object that becomes JSON, or `contents([…])`. */
export type ResourceHandler<U extends string> = (variables: Variables<U>, context: ServerContext) => unknown;

export class Resources extends Shelf {
  constructor(registry: Registry, around: Surroundings) {
    super("resources", registry, around);
  }

  /** Clients hear that the list has changed. Throws `NAME_COLLISION`, `BAD_NAME`, `BAD_DEFINITION`; returns its undo. */
  register<const U extends string>(definition: ResourceDefinition<U>, handler: ResourceHandler<U>): () => void;
  register(
    definition: ResourceDefinition<string>,
    handler: (variables: Readonly<Record<string, string>>, context: ServerContext) => unknown,
  ): () => void {
    checkDefinition("resources", definition, handler);
    const { name, uri, mimeType, annotations, size, complete } = definition;
    return this.registry.add({
      resources: {
        [name]: {
          ...describedBy(definition),
          uri,
          ...omitUndefined({ mimeType, annotations, size }),
          ...(definition.list !== undefined && { list: definition.list.bind(definition) }),
          ...completing(complete),
          read: handling(this.refOf(name), this.around, handler),
        },
      },
    });
  }

  /** The content is another one now: subscribers are told. Of a template, under these variables or under any. Throws `BAD_NAME`. */
  changed(name: string, variables?: Readonly<Record<string, string>>): void {
    this.registry.changed(name, variables);
  }
}

// Owns: a source whose names and URIs get a prefix. Does not own: names that collide without one (merge.ts).
import {
  type JsonObject,
  type CallOptions,
  type Catalogue,
  CONTENT,
  type ContentOf,
  type Dirty,
  isJsonObject,
  isList,
  type Json,
  type ListName,
  type Offer,
  type OfferRef,
  type Reply,
  type Source,
  type Surface,
  TroupeError,
  type Viewer,
} from "../../core/contract/index.ts";
import { andThen, hasOwn, isContent, Lru, memoize, templatesOf } from "../../core/contract/internal.ts";
import { unknownOffer } from "./actor-access.ts";
import {
  checkName,
  describePrefix,
  describeSource,
  joinInstructions,
  joinName,
  LISTS,
  type Names,
  type NameStyle,
  namesOf,
  refOf,
  sourceWords,
  splitRef,
  withAppUri,
  withSegment,
} from "./names.ts";
import { withoutName } from "./plan.ts";

/**
 * The source with a prefix on all names, which is also the first segment of all URIs, so that it can be merged with another of its kind.
 * `names`: the separator and the valid names, `underscores` (`town__look`, default) or `dots` (`town.look`). An offer whose new name clients
 * would refuse is omitted, and is in the catalogue's `missing` (`BAD_NAME`); where none remains, `surface` throws that.
 */
export function prefix(name: string, source: Source, given: NameStyle | Names = "underscores"): Source {
  const names = namesOf(given);
  const prefixed = new PrefixedSource(name, source, names);
  describePrefix(prefixed, { head: headOf(names, name), inside: source });
  describeSource(prefixed, `${sourceWords(source, 0)} under ${JSON.stringify(name)}`);
  return prefixed;
}

type Result = JsonObject & { readonly [CONTENT]: readonly Json[] };

class PrefixedSource implements Source {
  readonly #name: string;
  /** The prefix with its separator. */
  readonly #head: string;
  /** The first segment of its URIs. */
  readonly #segment: string;
  readonly #source: Source;
  readonly #names: Names;
  readonly #catalogueOf = memoize((inner: Catalogue) => this.#renamed(inner));
  readonly #surfaceOf = memoize((inner: Surface) => this.#outside(inner));
  /** By message: an equal error again is the same object, so it is logged once. */
  readonly #refused = new Lru<string, TroupeError>(1_000);
  readonly complete?: NonNullable<Source["complete"]>;

  constructor(name: string, source: Source, names: Names) {
    this.#name = name;
    this.#head = headOf(names, name);
    this.#segment = encodeURIComponent(name);
    this.#source = source;
    this.#names = names;
    if (source.complete === undefined) return;
    this.complete = async (viewer, ref, argument, value, others: JsonObject) => {
      const inner = this.#inside(ref);
      return inner === undefined ? [] : ((await source.complete?.(viewer, inner, argument, value, others)) ?? []);
    };
  }

  get instructions(): string | undefined {
    return joinInstructions([this]);
  }

  surface(viewer: Viewer): Surface | Promise<Surface> {
    return andThen(this.#source.surface(viewer), this.#surfaceIn);
  }

  readonly #surfaceIn = (inner: Surface): Surface => {
    const outer = this.#surfaceOf(inner);
    const [fault] = outer.catalogue.missing ?? [];
    if (fault !== undefined && LISTS.every((list) => outer.catalogue[list].length === 0)) throw fault;
    return outer;
  };

  catalogue(viewer: Viewer): Catalogue | undefined {
    const inner = this.#source.catalogue?.(viewer);
    return inner && this.#catalogueOf(inner);
  }

  async act(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Promise<Reply> {
    return this.actNow(viewer, ref, args, options);
  }

  actNow(viewer: Viewer, ref: OfferRef, args: Json, options: CallOptions): Reply | Promise<Reply> {
    const inner = this.#inside(ref);
    if (inner === undefined) return unknownOffer;
    const reply = this.#source.actNow?.(viewer, inner, args, options) ?? this.#source.act(viewer, inner, args, options);
    return andThen(reply, this.#replyOutside, viewer);
  }

  /** The reply with this source's own URIs as its clients know them. */
  readonly #replyOutside = (reply: Reply, viewer: Viewer): Reply | Promise<Reply> => {
    if (!hasOwn(reply, "ok") || !isContent(reply.ok) || !blocksOf(reply.ok).some(namesUri)) return reply;
    const { ok } = reply;
    const inner = this.#source.catalogue?.(viewer);
    return inner === undefined ? this.#replyOnceKnown(ok, viewer) : { ok: this.#withOuterUris(ok, inner) };
  };

  /** The call itself may have changed what is offered: a link to a resource that it has created leads to a new one. */
  async #replyOnceKnown(ok: Result, viewer: Viewer): Promise<Reply> {
    try {
      return { ok: this.#withOuterUris(ok, (await this.#source.surface(viewer)).catalogue) };
    } catch {
      // What the call did counts, not whether the source can be reached after it.
      return { ok };
    }
  }

  #withOuterUris(ok: Result, inner: Catalogue): Result {
    const isOwn = ownUris(inner);
    const renamed = (block: Json): Json => withUri(block, (uri) => (isOwn(uri) ? withSegment(uri, this.#segment) : uri));
    const { messages } = ok;
    const moved = { ...ok, [CONTENT]: ok[CONTENT].map(renamed) };
    if (!isList(messages)) return moved;
    const withContent = (message: Json): Json =>
      isJsonObject(message) && message["content"] !== undefined ? { ...message, content: renamed(message["content"]) } : message;
    return { ...moved, messages: messages.map(withContent) };
  }

  watch(viewer: Viewer, dirty: Dirty, only?: ContentOf, contents?: boolean): () => void {
    const ref = only && this.#inside(only.ref);
    if (only !== undefined && ref === undefined) return () => undefined;
    const onDirty = (of?: OfferRef): void => dirty(of && this.#outsideRef(of));
    return this.#source.watch(viewer, onDirty, only && ref && { ref, args: only.args }, contents);
  }

  #inside(ref: OfferRef): OfferRef | undefined {
    const parts = splitRef(ref);
    if (parts === undefined || !parts.name.startsWith(this.#head)) return undefined;
    return refOf(parts.list, parts.name.slice(this.#head.length));
  }

  #outsideRef(ref: OfferRef): OfferRef {
    const parts = splitRef(ref);
    return parts === undefined ? ref : refOf(parts.list, joinName(this.#names, this.#name, parts.name));
  }

  #renamed(inner: Catalogue): Catalogue {
    const missing = [...(inner.missing ?? [])];
    const renamed = (list: ListName): readonly Offer[] => Object.freeze(inner[list].flatMap((offer) => this.#rename(list, offer, missing)));
    const lists = { tools: renamed("tools"), resources: renamed("resources"), prompts: renamed("prompts") };
    return missing.length === 0 ? lists : { ...lists, missing: Object.freeze(missing) };
  }

  #outside(inner: Surface): Surface {
    const renameKeys = <T>(record: Readonly<Record<string, T>>): Record<OfferRef, T> => {
      const result: Record<OfferRef, T> = {};
      for (const [ref, value] of Object.entries(record)) if (isRef(ref)) result[this.#outsideRef(ref)] = value;
      return result;
    };
    return {
      catalogue: this.#catalogueOf(inner.catalogue),
      off: renameKeys(inner.off),
      ...(inner.choices === undefined ? {} : { choices: renameKeys(inner.choices) }),
      ...(inner.links === undefined ? {} : { links: inner.links }),
    };
  }

  // One name that no client could use must not disable the others: they may come from any server.
  #rename(list: ListName, offer: Offer, missing: TroupeError[]): readonly Offer[] {
    const name = joinName(this.#names, this.#name, offer.name);
    // Clients request resources by URI, and what a mounted server's are called is their URI, which may be long.
    if (list === "resources") return [this.#moved(name, offer)];
    try {
      checkName(this.#names, list, name, sourceWords(this.#source, 0));
    } catch (error) {
      if (!(error instanceof TroupeError)) throw error;
      const known = this.#refused.get(error.message) ?? error;
      this.#refused.set(error.message, known);
      missing.push(known);
      return [];
    }
    if (list === "prompts") return [{ ...offer, name }];
    return [{ ...offer, name, definition: withAppUri(offer.definition, (uri) => withSegment(uri, this.#segment)) }];
  }

  #moved(name: string, offer: Offer): Offer {
    const definition = withoutName(offer.definition, offer.name);
    const { uri, uriTemplate, ...rest } = definition;
    if (typeof uri === "string") return { ...offer, name, definition: { ...rest, uri: withSegment(uri, this.#segment) } };
    if (typeof uriTemplate === "string")
      return { ...offer, name, definition: { ...rest, uriTemplate: withSegment(uriTemplate, this.#segment) } };
    return { ...offer, name };
  }
}

/** Whether a URI is of one of the catalogue's resources. */
const ownUris = memoize((catalogue: Catalogue): ((uri: string) => boolean) => {
  const uris = new Set(catalogue.resources.map(({ definition }) => definition["uri"]));
  return (uri) => uris.has(uri) || templatesOf(catalogue).some(({ pattern }) => pattern.match(uri) !== undefined);
});

/** The blocks of a result, and those of a prompt's messages. */
function blocksOf({ [CONTENT]: blocks, messages }: Result): readonly Json[] {
  if (!isList(messages)) return blocks;
  return [...blocks, ...messages.map((message) => (isJsonObject(message) ? (message["content"] ?? null) : null))];
}

const namesUri = (block: Json): boolean => isJsonObject(block) && (block["type"] === "resource_link" || block["type"] === "resource");

/** A content block: a link to a resource, or a resource within it, with another URI. Other blocks stay as they are. */
function withUri(block: Json, rename: (uri: string) => string): Json {
  if (!isJsonObject(block)) return block;
  const { type, uri, resource } = block;
  if (type === "resource_link" && typeof uri === "string") return { ...block, uri: rename(uri) };
  if (type === "resource" && isJsonObject(resource) && typeof resource["uri"] === "string")
    return { ...block, resource: { ...resource, uri: rename(resource["uri"]) } };
  return block;
}

const headOf = (names: Names, name: string): string => joinName(names, name, "x").slice(0, -1);

function isRef(text: string): text is OfferRef {
  return LISTS.some((list) => text.startsWith(`${list}/`));
}

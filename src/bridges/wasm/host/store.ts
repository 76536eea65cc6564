// Owns: the interface `store`: contents by digest and label, in spaces whose UUID is their only access key. Spaces of the host have other names.
import type { ContentStore, Digest } from "../../../core/contract/index.ts";
import { isDigest } from "../guest-state.ts";
import type { WitValue } from "../wit.ts";
import type { Import, ImportContext } from "./call-environment.ts";
import { deriveUuid, isUuid } from "./call-effects.ts";
import { asBytes, ok, asRecord, asText } from "./values.ts";

const PAGE = 1_000;
const MAX_LISTED = 10_000;
const MAX_LABEL = 256;

function spaceIn(value: WitValue): string {
  const space = asText(value);
  if (!isUuid(space)) throw new Error("This is no store: `new` gives the id of one.");
  return space;
}

function labelIn(value: WitValue): string {
  const label = asText(value);
  if (label === "" || label.length > MAX_LABEL || !label.isWellFormed()) throw new Error(`A label has 1 to ${MAX_LABEL} characters.`);
  return label;
}

function digestIn(value: WitValue): Digest {
  const digest = asText(asRecord(value)["hash"]);
  if (!isDigest(digest)) throw new Error("This is no reference: a hash has 64 lower-case hex digits.");
  return digest;
}

const refTo = (hash: Digest): WitValue => ({ hash });

/** Whether a content is in that space. A digest alone does not permit reading. */
export async function isInSpace(contents: ContentStore, space: string, digest: Digest): Promise<boolean> {
  const before = BigInt(`0x${digest}`) - 1n;
  const [found] = await contents.contents(space, 1, before < 0n ? undefined : before.toString(16).padStart(64, "0"));
  return found?.digest === digest;
}

async function requireInSpace(contents: ContentStore, space: string, digest: Digest): Promise<Digest> {
  if (await isInSpace(contents, space, digest)) return digest;
  throw new Error(`${digest} is not in this store: store it first.`);
}

/** Reads all pages. `tooMany`: what the list has too many of, and what to do instead. */
async function listAll<T>(tooMany: string, page: (last: T | undefined) => Promise<readonly T[]>): Promise<readonly T[]> {
  const all: T[] = [];
  for (;;) {
    const next = await page(all.at(-1));
    all.push(...next);
    if (all.length > MAX_LISTED) throw new Error(`The store has more than ${MAX_LISTED} ${tooMany}.`);
    if (next.length < PAGE) return all;
  }
}

const contentsIn = (contents: ContentStore, space: string): ReturnType<ContentStore["contents"]> =>
  listAll("contents: label what you look for", (last) => contents.contents(space, PAGE, last?.digest));

const labelsIn = (contents: ContentStore, space: string): ReturnType<ContentStore["labels"]> =>
  listAll("labels: use several stores", (last) => contents.labels(space, PAGE, last));

const contentsOf = ({ environment }: ImportContext): ContentStore => environment.options.contents;

const storeAt: Import = async (host, [given, name, content]) => {
  const space = spaceIn(given);
  const label = labelIn(name);
  const digest = await host.environment.put(asBytes(content), space);
  await contentsOf(host).label(space, label, digest);
  return { result: ok(refTo(digest)), lasting: true };
};

const label: Import = async (host, [given, name, ref]) => {
  const space = spaceIn(given);
  const at = labelIn(name);
  await contentsOf(host).label(space, at, await requireInSpace(contentsOf(host), space, digestIn(ref)));
  return { result: ok(), lasting: true };
};

export const store: Readonly<Record<string, Import>> = {
  new: ({ environment, effects }) => ({ result: ok(deriveUuid(environment.message.seed, "store", effects.nextDerived())) }),
  async store(host, [space, content]) {
    return { result: ok(refTo(await host.environment.put(asBytes(content), spaceIn(space)))) };
  },
  async get(host, [space, ref]) {
    const digest = await requireInSpace(contentsOf(host), spaceIn(space), digestIn(ref));
    const found = await contentsOf(host).get(digest);
    if (found === undefined) throw new Error(`${digest} was collected: label what you want to keep.`);
    return { result: ok(found) };
  },
  async exists(host, [space, ref]) {
    return { result: ok(await isInSpace(contentsOf(host), spaceIn(space), digestIn(ref))) };
  },
  label,
  "replace-at-label": label,
  "store-at-label": storeAt,
  "replace-content-at-label": storeAt,
  async "get-by-label"(host, [space, name]) {
    const digest = await contentsOf(host).labelled(spaceIn(space), labelIn(name));
    return { result: ok(digest === undefined ? undefined : refTo(digest)) };
  },
  async "remove-label"(host, [space, name]) {
    await contentsOf(host).label(spaceIn(space), labelIn(name), undefined);
    return { result: ok(), lasting: true };
  },
  async "remove-from-label"(host, [given, name, ref]) {
    const space = spaceIn(given);
    const at = labelIn(name);
    if ((await contentsOf(host).labelled(space, at)) !== digestIn(ref))
      throw new Error(`The label "${at}" does not name that content: read it with \`get-by-label\`.`);
    await contentsOf(host).label(space, at, undefined);
    return { result: ok(), lasting: true };
  },
  async "list-labels"(host, [space]) {
    return { result: ok(await labelsIn(contentsOf(host), spaceIn(space))) };
  },
  async "list-all-content"(host, [space]) {
    return { result: ok((await contentsIn(contentsOf(host), spaceIn(space))).map(({ digest }) => refTo(digest))) };
  },
  async "calculate-total-size"(host, [space]) {
    const all = await contentsIn(contentsOf(host), spaceIn(space));
    return { result: ok(BigInt(all.reduce((sum, { bytes: size }) => sum + size, 0))) };
  },
};

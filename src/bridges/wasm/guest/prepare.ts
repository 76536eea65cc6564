// Owns: checking and storing what a guest is started from or updated to. Does not own: finding manifests (manifest/manifest-finder.ts).
import { type Digest, isJsonObject, type Outgoing } from "../../../core/contract/index.ts";
import { omitUndefined, roundingIssue } from "../../../core/contract/internal.ts";
import type { Beginning, ContentReader, GuestStart, Manifests } from "../guest-options.ts";
import type { GuestState } from "../guest-state.ts";
import { isOperatorReference, parseReference } from "../manifest/manifest-finder.ts";
import { type Manifest, ManifestError } from "../manifest/manifest.ts";
import { exposesMachine } from "../manifest/grants.ts";
import { parseJson } from "../host/messages.ts";
import type { Starter } from "../host/call-environment.ts";
import type { GuestRuntime } from "./guest-runtime.ts";

type Preparing = Pick<GuestRuntime, "options" | "programs">;

/** Stores manifest, component and initial state, and returns the first message. Throws if one is invalid. */
export async function prepare({ options: { manifests }, programs }: Preparing, start: GuestStart, starter?: Starter): Promise<Outgoing> {
  const { text, origin } = await manifests.find(start.manifest, starter);
  // The grants are meant for the component that the manifest names. Another one could misuse them to read the machine.
  if (start.component !== undefined && origin !== undefined)
    throw new ManifestError(
      "NOT_ALLOWED",
      `A component goes with a manifest's own text; ${JSON.stringify(origin.slice(0, 200))} names its own: leave the component away, or give a manifest as text.`,
    );
  const manifest = await manifests.read(text, origin);
  starter?.allow(manifest, origin);
  const component = await programs.putComponent(
    start.component ?? (await manifestComponent(manifests, manifest, origin, starter)),
    manifest.grants,
  );
  const digest = await programs.put(Buffer.from(text));
  const own = start.resume ? undefined : manifest.initialState;
  const base = own === undefined ? undefined : await manifests.content(own, origin, starter);
  const state = mergedState(base, start.initialState);
  const beginning: Beginning = {
    manifest: digest,
    ...omitUndefined({ origin }),
    component,
    name: manifest.name,
    ...(state === undefined ? {} : { initialState: await programs.put(state) }),
    ...omitUndefined({ resume: start.resume, generation: start.generation }),
  };
  return { to: start.to, action: "start", args: {}, start: { ...beginning } };
}

function manifestComponent(
  manifests: Manifests,
  manifest: Manifest,
  origin: string | undefined,
  reader: ContentReader | undefined,
): Promise<Uint8Array> {
  if (manifest.component === undefined)
    throw new ManifestError(
      "BAD_MANIFEST",
      `The manifest of ${JSON.stringify(manifest.name)} names no component: add component = "path.wasm", or give its bytes beside the manifest's text.`,
    );
  return manifests.content(manifest.component, origin, reader);
}

/** Looks in the manifests directory first, as for all paths from operators, then relative to the guest's manifest. */
async function findComponent(manifests: Manifests, reference: string, origin: string | undefined): Promise<Uint8Array> {
  try {
    return await manifests.content(reference, undefined);
  } catch (error) {
    if (origin === undefined || !(error instanceof ManifestError) || error.code !== "NOT_FOUND") throw error;
    return manifests.content(reference, origin).catch((): never => {
      throw error;
    });
  }
}

/** Stores another component for a running guest, and returns its digest. Throws if it is invalid. */
export async function replacement({ options: { manifests }, programs }: Preparing, reference: string, guest: GuestState): Promise<Digest> {
  const { manifest } = await programs.program(guest.manifest, guest.component, guest.origin);
  // Anyone who may start guests can store bytes, for example as an initial state.
  if (exposesMachine(manifest.grants) && !isOperatorReference(parseReference(reference)))
    throw new ManifestError(
      "NOT_ALLOWED",
      `${JSON.stringify(manifest.name)} is granted a directory or variables, and takes only what the operator put there: name the component by a path below the manifests directory, or by store:<label>.`,
    );
  return programs.putComponent(await findComponent(manifests, reference, guest.origin), manifest.grants);
}

/** The initial state: that of the manifest, overridden by that of the starter. */
function mergedState(base: Uint8Array | undefined, given: Uint8Array | undefined): Uint8Array | undefined {
  if (base === undefined || given === undefined) return given ?? base;
  const [under, over] = [parseJson(base), parseJson(given)];
  if (!isJsonObject(under) || !isJsonObject(over)) return given;
  for (const one of [base, given]) {
    const issue = roundingIssue(new TextDecoder().decode(one));
    if (issue !== undefined) throw new ManifestError("BAD_MANIFEST", `The initial states cannot be merged: ${issue}`);
  }
  return new Uint8Array(Buffer.from(JSON.stringify({ ...under, ...over })));
}

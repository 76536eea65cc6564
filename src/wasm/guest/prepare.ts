import type { Digest, Outgoing } from "../../contract/index.ts";
import type { Beginning, GuestOptions, GuestStart } from "../guest-options.ts";
import type { GuestState } from "../guest-state.ts";
import type { Manifest } from "../manifest.ts";
import { firstState } from "./first-state.ts";
import type { Library } from "./library.ts";

/**
 * Puts manifest, component and first state into the content store. Throws what is wrong with them: nothing has begun then.
 * `allow` throws where it may not begin.
 */
export async function prepare(
  options: GuestOptions,
  library: Library,
  start: GuestStart,
  allow: (manifest: Manifest, origin: string | undefined) => void,
): Promise<Outgoing> {
  const { manifests } = options;
  const { text, origin } = await manifests.find(start.manifest);
  const manifest = await manifests.read(text, origin);
  allow(manifest, origin);
  const component = await library.putComponent(start.component ?? (await named(options, manifest, origin)), manifest.grants);
  const digest = await library.put(Buffer.from(text));
  const own = start.resume ? undefined : manifest.initialState;
  const base = own === undefined ? undefined : await manifests.content(own, origin);
  const state = firstState(base, start.initialState);
  const beginning: Beginning = {
    manifest: digest,
    ...(origin === undefined ? {} : { origin }),
    component,
    name: manifest.name,
    ...(state === undefined ? {} : { initialState: await library.put(state) }),
    ...(start.resume === undefined ? {} : { resume: true }),
    ...(start.generation === undefined ? {} : { generation: start.generation }),
  };
  return { to: start.to, action: "start", args: {}, start: { ...beginning } };
}

function named({ manifests }: GuestOptions, manifest: Manifest, origin: string | undefined): Promise<Uint8Array> {
  if (manifest.component === undefined)
    throw new Error(`The manifest of "${manifest.name}" names no component: add component = "path.wasm", or give its bytes beside it.`);
  return manifests.content(manifest.component, origin);
}

/** Another component for a guest that runs: what `update` is told. Throws what is wrong with it. */
export async function replacement({ manifests }: GuestOptions, library: Library, reference: string, guest: GuestState): Promise<Digest> {
  const { manifest } = await library.program(guest.manifest, guest.component, guest.origin);
  return library.putComponent(await manifests.content(reference, guest.origin), manifest.grants);
}

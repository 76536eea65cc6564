// Owns: what `troupe/wasm` exports.
export type { Component, CoreExport } from "./component/component.ts";
export {
  type Beginning,
  type ChildEvent,
  GUEST_LIMITS,
  type GuestHouseOptions,
  type GuestOptions,
  type GuestStart,
  type Manifests,
  MOST_GUEST_LIMITS,
} from "./guest-options.ts";
export { type ChannelEnd, GUEST, type GuestState } from "./guest-state.ts";
export { createGuests, type Guests } from "./guests.ts";
export { type ComponentReaderOptions, createComponentReader } from "./jco/component-reader.ts";
export { MissingContent, loadValue } from "./stored-values.ts";
export { type Grants, type Manifest, ManifestError } from "./manifest/manifest.ts";
export { ManifestFinder, type ManifestOptions } from "./manifest/manifest-finder.ts";
export { readManifest } from "./manifest/read-manifest.ts";
export { createSandbox, type SandboxOptions } from "./pool/guest-pool.ts";
export { readComponent } from "./component/read-component.ts";
export type { GuestCall, GuestHost, GuestLimits, GuestOutcome, HostCall, Sandbox } from "./sandbox.ts";
export { WasmError } from "./wasm-error.ts";
export type { WitFunction, WitType, WitValue } from "./wit.ts";
export { checkGranted } from "./manifest/grants.ts";
export { type ExportName, type ImportName } from "./component/world.ts";

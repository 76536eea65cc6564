// Owns: loading and caching manifests, components and states of guests.
import { hash } from "node:crypto";
import { type ActorId, type ContentStore, type Digest, StoreError } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import type { Component } from "../component/component.ts";
import { type GuestOptions, limitsOf } from "../guest-options.ts";
import type { Grants, Manifest } from "../manifest/manifest.ts";
import type { Put } from "../host/call-environment.ts";
import type { GuestCall, GuestLimits } from "../sandbox.ts";
import { visibleVariables } from "../manifest/grants.ts";
import { RecentContents } from "./live-contents.ts";

/** A manifest with its component. */
export interface Program {
  readonly manifest: Manifest;
  readonly component: Component;
  readonly limits: GuestLimits;
  /** The environment variables that its manifest exposes. */
  readonly variables: Readonly<Record<string, string>>;
}

/** What all calls of a program have in common. */
export function callOf({ component, limits, manifest }: Program): Pick<GuestCall, "component" | "limits" | "listVariables" | "random"> {
  const { environment, random } = manifest.grants;
  return { component, limits, listVariables: environment?.listAll ?? false, ...omitUndefined({ random }) };
}

const COMPONENT_BYTES = 256 * 1_048_576;
const STATE_BYTES = 64 * 1_048_576;
const PROGRAM_BYTES = 256 * 1_048_576;
/** Much longer than a turn takes; a bound for calls whose turn never commits. */
const RECENT_MS = 3_600_000;

const weightOf = ({ module, glue }: Component): number => module.length + (glue?.script.length ?? 0);

export class ProgramCache {
  readonly #options: GuestOptions;
  readonly #components = new WeightedCache<Component>(COMPONENT_BYTES);
  readonly #programs = new WeightedCache<Program>(PROGRAM_BYTES);
  readonly #states = new WeightedCache<Uint8Array>(STATE_BYTES);
  readonly recent: RecentContents;

  constructor(options: GuestOptions) {
    this.#options = options;
    this.recent = new RecentContents(options.clock, RECENT_MS);
  }

  get contents(): ContentStore {
    return this.#options.contents;
  }

  /** Stores a content that a guest is started from. */
  async put(bytes: Uint8Array): Promise<Digest> {
    const digest = await this.contents.put(bytes);
    this.recent.add(digest);
    return digest;
  }

  /** Stores contents of a call. They are not collected before the turn `seq` is committed or dropped. */
  putFor(id: ActorId, seq: number): Put {
    const record = this.recent.startCall(id, seq);
    return async (bytes, space) => {
      const digest = await this.contents.put(bytes, space);
      record(digest);
      return digest;
    };
  }

  /** Throws if it is missing. */
  async content(digest: Digest, what: string): Promise<Uint8Array> {
    const bytes = await this.contents.get(digest);
    if (bytes === undefined)
      throw new StoreError("STORE_CORRUPT", `The ${what} ${digest} is not in the content store any more: restore it from a copy.`);
    return bytes;
  }

  /** Checks a component before it is stored. */
  async putComponent(bytes: Uint8Array, grants: Grants): Promise<Digest> {
    const component = await this.#components.get(hash("sha256", bytes, "hex"), async () => {
      const value = await this.#options.readComponent(bytes);
      return { value, weight: weightOf(value) };
    });
    this.#options.checkGranted(component, grants);
    return this.put(bytes);
  }

  #component(digest: Digest): Promise<Component> {
    return this.#components.get(digest, async () => {
      const value = await this.#options.readComponent(await this.content(digest, "component"));
      return { value, weight: weightOf(value) };
    });
  }

  /** Throws if one is invalid, or an import is not granted. */
  program(manifest: Digest, component: Digest, origin: string | undefined): Promise<Program> {
    return this.#programs.get(`${manifest} ${component} ${origin ?? ""}`, async () => {
      const text = Buffer.from(await this.content(manifest, "manifest")).toString();
      const read = await this.#options.manifests.read(text, origin);
      const loadedComponent = await this.#component(component);
      this.#options.checkGranted(loadedComponent, read.grants);
      // The entry keeps its component in memory too.
      return { value: this.#program(read, loadedComponent), weight: loadedComponent.module.length + text.length };
    });
  }

  #program(manifest: Manifest, component: Component): Program {
    const variables = visibleVariables(manifest.grants.environment, this.#options.variables);
    return { manifest, component, limits: limitsOf(manifest, this.#options), variables };
  }

  async state(digest: Digest | null): Promise<Uint8Array | undefined> {
    if (digest === null) return undefined;
    return this.#states.get(digest, async () => {
      const value = await this.content(digest, "state");
      return { value, weight: value.length };
    });
  }

  /** `before`: the state that it replaces. */
  async putState(bytes: Uint8Array | undefined, before: Digest | null, put: Put): Promise<Digest | null> {
    const old = before === null ? undefined : await this.state(before);
    if (bytes === undefined) return null;
    if (old !== undefined && Buffer.compare(old, bytes) === 0) return before;
    const digest = await put(bytes);
    if (before !== null) this.#states.drop(before);
    this.#states.put(digest, bytes, bytes.length);
    return digest;
  }
}

interface Entry<V> {
  readonly value: Promise<V>;
  weight: number;
}

type Load<V> = () => Promise<{ readonly value: V; readonly weight: number }>;

/** An LRU cache with a maximum total weight. Concurrent loads of a key are shared. */
export class WeightedCache<V> {
  readonly #entries = new Map<string, Entry<V>>();
  readonly #maxWeight: number;
  #weight = 0;

  constructor(maxWeight: number) {
    this.#maxWeight = maxWeight;
  }

  /** `load` returns a value and its weight. Errors are not cached. */
  get(key: string, load: Load<V>): Promise<V> {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, known);
      return known.value;
    }
    const entry: Entry<V> = { value: this.#load(key, load, () => entry), weight: 0 };
    this.#entries.set(key, entry);
    return entry.value;
  }

  async #load(key: string, load: Load<V>, self: () => Entry<V>): Promise<V> {
    try {
      const { value, weight } = await load();
      const entry = self();
      if (this.#entries.get(key) === entry) {
        entry.weight = weight;
        this.#weight += weight;
        this.#trim();
      }
      return value;
    } catch (error) {
      if (this.#entries.get(key) === self()) this.#entries.delete(key);
      throw error;
    }
  }

  put(key: string, value: V, weight: number): void {
    this.drop(key);
    this.#entries.set(key, { value: Promise.resolve(value), weight });
    this.#weight += weight;
    this.#trim();
  }

  drop(key: string): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0;
    this.#entries.delete(key);
  }

  #trim(): void {
    for (const key of this.#entries.keys()) {
      if (this.#weight <= this.#maxWeight) return;
      this.drop(key);
    }
  }
}

import { isJsonObject } from "../../../core/contract/index.ts";
import type { GuestState } from "../guest-state.ts";

/** Of what a store or a chain has for a guest's actor. */
export const isGuestState = (value: unknown): value is GuestState =>
  isJsonObject(value) &&
  typeof value["id"] === "string" &&
  typeof value["manifest"] === "string" &&
  typeof value["component"] === "string" &&
  (value["state"] === null || typeof value["state"] === "string") &&
  isJsonObject(value["children"]) &&
  isJsonObject(value["channels"]) &&
  Array.isArray(value["outstanding"]);

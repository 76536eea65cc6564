import { ManifestError } from "./manifest-error.ts";

/** What a manifest, a component or a state is called by. */
export type Reference =
  | { readonly digest: string; readonly space?: string }
  | { readonly space: string; readonly label: string }
  | { readonly path: string };

/** Where `store:<label>` looks. Theater keeps manifests there. */
export const MANIFEST_SPACE = "manifest";

const DIGEST = /^[0-9a-f]{64}$/;
const STORE = "store:";

/**
 * `store:<digest>`, `store:<label>`, `store://<space>/<label>`, `store://<space>/hash/<digest>`; else a path. Throws `ManifestError`,
 * also for what would be fetched from elsewhere.
 */
export function referenceOf(written: string): Reference {
  if (/^https?:/iu.test(written))
    throw new ManifestError(
      "NOT_ALLOWED",
      `${shown(written)} is on the network, and nothing is fetched from there: put the file below the manifests directory, or into the store.`,
    );
  if (!written.startsWith(STORE)) return { path: written };
  const place = written.slice(STORE.length);
  if (!place.startsWith("//") && place !== "") return DIGEST.test(place) ? { digest: place } : { space: MANIFEST_SPACE, label: place };
  const [, space, rest] = /^\/\/([^/]+)\/(.+)$/u.exec(place) ?? [];
  if (space === undefined || rest === undefined)
    throw new ManifestError(
      "BAD_MANIFEST",
      `${shown(written)} names nothing: write store:<label>, store:<digest>, store://<space>/<label> or store://<space>/hash/<digest>.`,
    );
  if (!rest.startsWith("hash/")) return { space, label: rest };
  const digest = rest.slice("hash/".length);
  if (!DIGEST.test(digest))
    throw new ManifestError("BAD_MANIFEST", `${shown(written)} holds no digest: SHA-256 is 64 hex digits, in lower case.`);
  return { digest, space };
}

/** A path, or a label among the manifests: no guest, and nobody who starts one, puts anything there. */
export const isOperators = (reference: Reference): boolean =>
  "path" in reference || ("label" in reference && reference.space === MANIFEST_SPACE);

/** Whether it is a manifest's text rather than where to find one. */
export const isInline = (given: string): boolean => /\n/u.test(given) || /^\s*["'\w.-]+\s*=/u.test(given);

export const shown = (text: string): string => JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text.toWellFormed());

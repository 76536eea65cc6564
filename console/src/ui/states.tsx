// Owns: what stands where data is not there: loading, failed, empty, unavailable.
import type { ComponentChildren } from "preact";
import type { Ability } from "../../../src/bridges/console/shapes.ts";
import { whyNot } from "../about.ts";
import type { ApiError } from "../api.ts";
import type { Resource } from "../resource.ts";
import { Prose } from "./prose.tsx";

export const Loading = ({ what }: { readonly what: string }) => (
  <p class="state dim" role="status">
    Loading {what} …
  </p>
);

export function ErrorNote({ error, retry }: { readonly error: ApiError; readonly retry?: () => void }) {
  return (
    <div class="state error" role="alert">
      <strong>
        <Prose text={error.message} />
      </strong>{" "}
      <code>{error.code}</code>
      {/* What is not there will not be there at once, either. */}
      {retry === undefined || error.status === 404 ? null : (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Nothing to show yet: says what would fill it. */
export const Empty = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="state empty">
    <strong>{title}</strong>
    {children}
  </div>
);

export const Unavailable = ({ ability }: { readonly ability: Ability }) => (
  <Empty title="Not available here">
    <span>
      <Prose text={whyNot(ability)} />
    </span>
  </Empty>
);

/** What was loaded, or why it was not. Data that was loaded before stays below the error of a later attempt. */
export function Loaded<T>({
  resource: { data, error, reload },
  what,
  children: draw,
}: {
  readonly resource: Resource<T>;
  readonly what: string;
  readonly children: (value: T) => ComponentChildren;
}) {
  return (
    <>
      {error.value === undefined ? null : <ErrorNote error={error.value} retry={reload} />}
      {data.value !== undefined ? draw(data.value) : error.value === undefined ? <Loading what={what} /> : null}
    </>
  );
}

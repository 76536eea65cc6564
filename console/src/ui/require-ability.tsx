// Owns: a page that only some servers can fill: its contents, or why they are not available. Does not own: what a server can do (about.ts).
import type { ComponentChildren } from "preact";
import type { Ability } from "../../../src/bridges/console/shapes.ts";
import { can } from "../about.ts";
import { PageHead } from "./page-head.tsx";
import { Unavailable } from "./states.tsx";

export const RequireAbility = ({
  ability,
  title,
  what,
  children,
}: {
  readonly ability: Ability;
  /** Of the page. */
  readonly title: string;
  readonly what: string;
  readonly children: ComponentChildren;
}) =>
  can(ability) ? (
    <>{children}</>
  ) : (
    <>
      <PageHead title={title} what={what} />
      <Unavailable ability={ability} />
    </>
  );

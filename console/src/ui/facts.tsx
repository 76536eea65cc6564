// Owns: names with their values, aligned.
import type { ComponentChildren } from "preact";
import "./facts.css";

/** `across`: side by side, each name above its value. Otherwise one below the other. */
export const Facts = ({ across = false, children }: { readonly across?: boolean; readonly children: ComponentChildren }) => (
  <dl class={across ? "facts across" : "facts"}>{children}</dl>
);

/** Left out without a value. */
export const Fact = ({ name, children }: { readonly name: string; readonly children?: ComponentChildren }) =>
  children === undefined || children === null ? null : (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );

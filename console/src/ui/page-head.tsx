// Owns: the head of a page: its title, what it is about, and what can be done with all of it.
import type { ComponentChildren } from "preact";
import "./page-head.css";

export const PageHead = ({
  title,
  what,
  children,
}: {
  readonly title: string;
  /** Half a sentence. */
  readonly what?: ComponentChildren;
  readonly children?: ComponentChildren;
}) => (
  <div class="page-head">
    <h1>{title}</h1>
    {what === undefined ? null : <span class="dim">{what}</span>}
    <span class="grow" />
    {children}
  </div>
);

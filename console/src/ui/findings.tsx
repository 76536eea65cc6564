// Owns: how findings are shown: what is wrong, what to do, and where. Does not own: finding them (GET /doctor).
import { Link } from "wouter-preact";
import type { Finding } from "../../../src/bridges/console/shapes.ts";
import { about } from "../about.ts";
import { Badge } from "./badge.tsx";
import { Time } from "./time.tsx";
import "./findings.css";

export const Findings = ({ findings }: { readonly findings: readonly Finding[] }) => (
  <ul class="findings">
    {findings.map((finding) => (
      <li key={`${finding.code} ${finding.title}`} class={finding.level}>
        <Badge word={finding.level} />
        <div class="finding">
          <strong>{finding.title}</strong>
          <span>{finding.advice}</span>
          <span class="dim finding-more">
            <code>{finding.code}</code>
            {finding.count === undefined ? null : <span>{finding.count === 1 ? "once" : `${finding.count.toLocaleString()} times`}</span>}
            {finding.lastAt === undefined ? null : (
              <span>
                last <Time at={finding.lastAt} />
              </span>
            )}
            {finding.docs === undefined ? null : (
              <a href={docsAddress(finding.docs)} target="_blank" rel="noreferrer">
                Documentation
              </a>
            )}
          </span>
        </div>
        {finding.page === undefined ? null : (
          <Link href={finding.page} class="button small" aria-label={`Open: ${finding.title}`}>
            Open
          </Link>
        )}
      </li>
    ))}
  </ul>
);

/** A page of the documentation, as an address. It is the reader who follows it: the console itself asks no other host. */
function docsAddress(page: string): string {
  const base = about.value?.docs ?? "";
  try {
    return new URL(page, base.endsWith("/") ? base : `${base}/`).href;
  } catch {
    return page;
  }
}

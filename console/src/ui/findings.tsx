// Owns: how findings are shown: what is wrong, what to do, and where. Does not own: finding them (GET /doctor).
import { Link } from "wouter-preact";
import type { Finding } from "../../../src/bridges/console/shapes.ts";
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
            {finding.docs === undefined ? null : <Documentation page={finding.docs} />}
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

/** A link where the documentation has an address. Otherwise its path in the package, which the browser cannot open. */
const Documentation = ({ page }: { readonly page: string }) =>
  /^https?:\/\//i.test(page) ? (
    <a href={page} target="_blank" rel="noreferrer">
      Documentation
    </a>
  ) : (
    <code title="A file of the package. The command troupe docs searches the documentation.">{page.replace(/#.*/s, "")}</code>
  );

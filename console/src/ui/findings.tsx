// Owns: how findings are shown: what is wrong, what to do, and where. Does not own: finding them (GET /doctor).
import { Link } from "wouter-preact";
import type { Finding } from "../../../src/bridges/console/shapes.ts";
import { Badge } from "./badge.tsx";
import { Prose } from "./prose.tsx";
import { Time } from "./time.tsx";
import "./findings.css";

export const Findings = ({
  findings,
  onDismiss,
}: {
  readonly findings: readonly Finding[];
  /** Absent: they cannot be dismissed. */
  readonly onDismiss?: (finding: Finding) => void;
}) => (
  <ul class="findings">
    {findings.map((finding) => (
      <li key={`${finding.code} ${finding.title}`} class={finding.level}>
        <Badge word={finding.level} />
        <div class="finding">
          <strong>
            <Prose text={finding.title} />
          </strong>
          <span>
            <Prose text={finding.advice} />
          </span>
          <span class="dim finding-more">
            <code>{finding.code}</code>
            {finding.count === undefined ? null : <span>{finding.count === 1 ? "once" : `${finding.count.toLocaleString()} times`}</span>}
            {finding.lastAt === undefined ? null : (
              <span>
                last <Time at={finding.lastAt} />
              </span>
            )}
            {finding.docs === undefined ? null : <Documentation page={finding.docs} code={finding.code} />}
          </span>
        </div>
        <span class="finding-actions">
          {onDismiss === undefined ? null : (
            <button type="button" class="small quiet" aria-label={`Dismiss: ${finding.title}`} onClick={() => onDismiss(finding)}>
              Dismiss
            </button>
          )}
          {finding.page === undefined ? null : (
            <Link href={finding.page} class="button small" aria-label={`Open: ${finding.title}`}>
              Open
            </Link>
          )}
        </span>
      </li>
    ))}
  </ul>
);

/** A link where the documentation has an address. Otherwise the command that finds it in the package. */
const Documentation = ({ page, code }: { readonly page: string; readonly code: string }) =>
  /^https?:\/\//i.test(page) ? (
    <a href={page} target="_blank" rel="noreferrer">
      Documentation
    </a>
  ) : (
    <code title={`In the file ${page.replace(/#.*/s, "")} of the package`}>troupe docs {code}</code>
  );

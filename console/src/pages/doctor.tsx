// Owns: all that the server found wrong or unwise, with what to do about it. Does not own: finding it (GET /doctor).
import type { Finding, PageOf } from "../../../src/bridges/console/shapes.ts";
import { get } from "../api.ts";
import { useResource } from "../resource.ts";
import { Badge } from "../ui/badge.tsx";
import { Findings } from "../ui/findings.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Loaded } from "../ui/states.tsx";
import { RefreshButton, usePolling } from "./lists/polling.tsx";

const GROUPS = [
  ["error", "Errors", "something does not work"],
  ["warning", "Warnings", "works, and should be looked at"],
  ["note", "Notes", "good to know"],
] as const;

export function Doctor() {
  const report = useResource("doctor", (signal) => get<PageOf<Finding>>("/doctor", undefined, signal));
  usePolling(report.reload, 10_000);
  return (
    <>
      <PageHead title="Doctor" what="what is wrong or unwise here, and what to do">
        <RefreshButton reload={report.reload} />
      </PageHead>
      <Loaded resource={report} what="the findings">
        {({ items: findings }) =>
          findings.length === 0 ? (
            <p class="calm">
              <Badge word="ok" /> Nothing was found. Errors that occur are explained here.
            </p>
          ) : (
            GROUPS.map(([level, title, what]) => {
              const some = findings.filter((finding) => finding.level === level);
              return some.length === 0 ? null : (
                <section key={level} aria-labelledby={`findings-${level}`}>
                  <h2 id={`findings-${level}`}>
                    {title}{" "}
                    <span class="dim">
                      {some.length} · {what}
                    </span>
                  </h2>
                  <Findings findings={some} />
                </section>
              );
            })
          )
        }
      </Loaded>
    </>
  );
}

/** Reports a finished call to telemetry: ids and figures, never the text of a key or a prompt. */
import type { CallRecord, PipelineDeps } from './context.ts';
import type { SettledOutcome } from './settle.ts';
import type { ReplyStatus } from './send-outcome.ts';

interface End {
  readonly settled: SettledOutcome;
  readonly status: ReplyStatus;
}

/** Called once per call. */
export function report({ clock, telemetry }: PipelineDeps, record: CallRecord, { settled, status }: End): void {
  const { received, authenticated, admitted, attempts, firstByteAt } = record;
  const { requestId, endpoint, dialect, arrivedAt } = received;
  const { refusedKey, ...answered } = status;
  telemetry.finished({
    requestId,
    endpoint,
    dialect,
    ...answered,
    ...askedFor(record),
    key: authenticated?.key ?? refusedKey,
    group: admitted?.candidate.group ?? authenticated?.key.group,
    attempts,
    // a job's bill is reported at its end
    billing: settled.result?.record.status === 'Running' ? undefined : settled.result?.record,
    admitted: admitted !== undefined,
    timedOut: record.timedOut,
    durationMs: clock.monotonicMs() - arrivedAt,
    firstByteMs: firstByteAt === undefined ? undefined : firstByteAt - arrivedAt,
  });
}

/** What is known of the request, which may not have been read. */
function askedFor({ routed }: CallRecord): { readonly stream: boolean; readonly model: string | undefined } {
  return { stream: routed?.call.stream ?? false, model: routed?.call.model };
}

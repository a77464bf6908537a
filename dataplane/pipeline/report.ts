/** Reports a finished call to telemetry: ids and figures, never a key or a prompt. */
import type { CallRecord, PipelineDeps } from './context.ts';
import type { SettledOutcome } from './settle.ts';
import type { ReplyStatus } from './send-outcome.ts';

interface End {
  readonly settled: SettledOutcome;
  readonly status: ReplyStatus;
}

/** Once per call. */
export function report({ clock, telemetry }: PipelineDeps, record: CallRecord, { settled, status }: End): void {
  const { received, authenticated, routed, admitted, attempts, firstByteAt } = record;
  const { requestId, endpoint, dialect, arrivedAt } = received;
  telemetry.finished({
    requestId,
    endpoint,
    dialect,
    ...status,
    stream: routed?.call.stream ?? false,
    key: authenticated?.key,
    model: routed?.call.model,
    group: admitted?.candidate.group ?? authenticated?.key.group,
    attempts,
    billing: settled.result?.record,
    timedOut: record.timedOut,
    durationMs: clock.monotonicMs() - arrivedAt,
    firstByteMs: firstByteAt === undefined ? undefined : firstByteAt - arrivedAt,
  });
}

/**
 * Serves one session from the request for its upgrade to its last event: opens it, relays it, and settles it once, however
 * it ends. The client is told of the end only after the settlement.
 */
import type { GatewayError } from '../../errors.ts';
import type { Close, MessageSocket } from '../../message-socket.ts';
import type { CallRecord, PipelineDeps } from '../context.ts';
import { errorOutcome } from '../error-outcome.ts';
import { report } from '../report.ts';
import { sendOutcome } from '../send-outcome.ts';
import { settle } from '../settle.ts';
import type { SettledOutcome } from '../settle.ts';
import { openSession } from './open-session.ts';
import type { OpenedSession } from './open-session.ts';
import { closeFor, closeOf, errorOf, outcomeOf, statusOfEnd } from './session-end.ts';
import type { SessionEnd } from './session-end.ts';
import { RealtimeSession } from './session.ts';

export interface SessionClient {
  /** Completes the client's upgrade. Rejects with ClientDisconnected. */
  readonly upgrade: () => Promise<MessageSocket>;
  /** Calls `drain` once when the process drains, at once if it does already. Returns a function that forgets it. */
  readonly onDrain: (drain: () => void) => () => void;
}

/** Never rejects: every error is sent to the client, as HTTP before its upgrade. */
export async function serveSession(deps: PipelineDeps, record: CallRecord, client: SessionClient): Promise<void> {
  let opened: OpenedSession | undefined;
  let socket: MessageSocket;
  try {
    opened = await openSession(deps, record);
    socket = await client.upgrade();
  } catch (error) {
    opened?.provider.close(1000, '');
    const settled = await settle(deps, record, errorOutcome(deps, record, error));
    report(deps, record, { settled, status: sendOutcome(deps, record, settled) });
    return;
  }
  const session = new RealtimeSession(deps, { record, ...opened, client: socket });
  const forget = client.onDrain(() => session.drain());
  record.session = session.bill;
  endWithHold(deps, record, session);
  const { end, isResponding } = await session.run();
  forget();
  const outcome = record.holdLost ? errorOutcome(deps, record, undefined) : outcomeOf(end, isResponding);
  const settled = await settle(deps, record, outcome);
  const { error, close } = toldOf(end, settled);
  if (error) await session.tell(error);
  socket.close(close.code, close.reason);
  report(deps, record, { settled, status: statusOfEnd(error) });
}

interface Told {
  readonly error: GatewayError | undefined;
  readonly close: Close;
}

/** What the client is told: of the session's end, or that its settlement is not recorded in time. */
function toldOf(end: SessionEnd, { outcome }: SettledOutcome): Told {
  const error = errorOf(end);
  if (error || outcome.kind !== 'Error') return { error, close: closeOf(end) };
  return { error: outcome.error, close: closeFor(outcome.error) };
}

/** Ends the session when its hold is lost, at once if it was lost during the upgrade. */
export function endWithHold(
  deps: Pick<PipelineDeps, 'defect'>,
  record: Pick<CallRecord, 'abort'> & Parameters<typeof errorOutcome>[1],
  session: Pick<RealtimeSession, 'stop'>,
): void {
  const { signal } = record.abort;
  const onAbort = (): void => {
    // the session sees for itself that its client has left
    if (!record.holdLost) return;
    const outcome = errorOutcome(deps, record, undefined);
    if (outcome.kind === 'Error') session.stop(outcome.error, false);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
}

/**
 * The stages of a call. Each takes the result of the previous one (context.ts), and any of them may throw a
 * GatewayError. settle runs exactly once however the call ends: success, error, provider failure, client disconnect.
 * The last bytes are sent only after it, so that no client sees the end of an unrecorded call.
 */
import { UpstreamFailure } from '../upstream/upstream.ts';
import type { CallOutcome, CallRecord, PipelineDeps, Received } from './context.ts';
import { addTurn } from './conversation-turn.ts';
import { authenticate } from './authenticate.ts';
import { checkEarly } from './early-checks.ts';
import { route } from './route.ts';
import { forward } from './forward.ts';
import { keepResponse } from './keep-response.ts';
import { relay } from './relay.ts';
import { settle } from './settle.ts';
import { errorOutcome } from './error-outcome.ts';
import { sendOutcome } from './send-outcome.ts';
import { PingingReply } from './pinging-reply.ts';
import { report } from './report.ts';

/** Serves one billed call from its body to its last byte. Never rejects: every error is sent to the client. */
export async function handleCall(deps: PipelineDeps, given: Received): Promise<void> {
  const pinging = new PingingReply(given.reply);
  const received = { ...given, reply: pinging };
  const record = createRecord(deps, received, pinging);
  let outcome: CallOutcome;
  try {
    const authenticated = (record.authenticated = authenticate(deps, received)); // key hash → key
    const routed = (record.routed = await route(deps, authenticated, (call) => checkEarly(deps, authenticated, call))); // model → candidates, in order
    const forwarded = await forward(deps, routed, record); // per candidate: admit (limits, money), send
    outcome = await relay(deps, forwarded, record); // convert back and meter; all but the last bytes
  } catch (error) {
    record.timedOut ||= error instanceof UpstreamFailure && error.timedOut;
    outcome = errorOutcome(deps, record, error);
  }
  const keeping = keepResponse(deps, record, outcome); // for later calls
  const settled = await settle(deps, record, outcome); // price, replace the hold, release the limits
  await Promise.all([keeping, addTurn(deps, record, settled.outcome)]); // the turn only of a call that is settled
  const status = sendOutcome(deps, record, settled); // the last bytes, or the error
  report(deps, record, { settled, status }); // metrics and the log line
}

/** A call of which nothing is known but what was received. */
export function createRecord(
  { state }: Pick<PipelineDeps, 'state'>,
  received: Received,
  pinging: CallRecord['pinging'],
): CallRecord {
  return {
    received,
    pinging,
    generation: state.generation,
    attempts: [],
    authenticated: undefined,
    routed: undefined,
    admitted: undefined,
    leased: false,
    sent: false,
    meter: undefined,
    produced: false,
    writeFailure: undefined,
    job: undefined,
    keeping: undefined,
    turn: undefined,
    abort: new AbortController(),
    holdLost: false,
    timedOut: false,
    countedOutput: undefined,
    firstByteAt: undefined,
  };
}

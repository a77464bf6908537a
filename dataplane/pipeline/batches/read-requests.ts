/** Reads the requests of a batch in parts, so that a file of any size takes little memory and no thread for long. */
import { runBatchPart } from '../../body-worker/batch-tasks.ts';
import { GatewayError } from '../../errors.ts';
import { RequestFault } from '../../protocol/call-facts.ts';
import { LineChunks, linesOf } from '../../protocol/batches/line-chunks.ts';
import type { BatchEndpoint, BatchForm, LineFacts } from '../../protocol/batches/requests.ts';
import type { EndpointCall, PipelineDeps, Received } from '../context.ts';
import { clientErrorOf } from '../route.ts';
import { LINE_CALLS } from './line-calls.ts';

/** More than any provider takes. */
const MAX_REQUESTS = 100_000;

export interface RequestReading {
  readonly received: Received;
  readonly keyUid: string;
  readonly form: BatchForm;
  /** Sets how many bytes of the file are held; throws GatewayError. */
  readonly hold: (bytes: number) => void;
  /** Called for each request in order; throws GatewayError for one that the batch cannot have. */
  readonly take: (call: EndpointCall, endpoint: BatchEndpoint) => void | Promise<void>;
}

/** Resolves with the number of requests. Rejects with GatewayError, whose message names the line or the request. */
export async function readRequests(
  deps: Pick<PipelineDeps, 'bodyWorker'>,
  reading: RequestReading,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<number> {
  const { hold } = reading;
  const chunks = new LineChunks();
  let count = 0;
  for await (const piece of pieces) {
    for (const chunk of chunks.push(piece)) count = await takeChunk(deps, reading, { chunk, before: count });
    hold(chunks.pendingBytes);
  }
  count = await takeChunk(deps, reading, { chunk: chunks.end(), before: count });
  hold(0);
  return count;
}

interface ReadChunk {
  readonly chunk: Uint8Array;
  /** How many requests were before it. */
  readonly before: number;
}

/** Resolves with the number of requests so far. */
async function takeChunk(
  { bodyWorker }: Pick<PipelineDeps, 'bodyWorker'>,
  reading: RequestReading,
  { chunk, before }: ReadChunk,
): Promise<number> {
  const { form, keyUid } = reading;
  const lines = await runBatchPart(bodyWorker, keyUid, { task: 'LineFacts', form }, chunk);
  let count = before;
  if (before + lines.length > MAX_REQUESTS)
    throw new GatewayError(
      'invalid_request',
      `A batch may have ${MAX_REQUESTS} ${nounOf(form)}s. Make several batches.`,
    );
  for (const line of lines) {
    count++;
    try {
      await takeLine(reading, line);
    } catch (error) {
      throw at(clientErrorOf(error), nounOf(form), count);
    }
  }
  return count;
}

function takeLine({ received, take }: RequestReading, line: LineFacts): void | Promise<void> {
  if ('fault' in line) throw new RequestFault(line.fault.code, line.fault.message, line.fault.param);
  return take(LINE_CALLS[line.endpoint](line.facts, received), line.endpoint);
}

function nounOf(form: BatchForm): string {
  return form === 'OpenAI' ? 'line' : 'request';
}

/** The same error, which says where it is. */
function at(error: unknown, noun: string, number: number): unknown {
  if (!(error instanceof GatewayError)) return error;
  const { code, message, details } = error;
  return new GatewayError(code, `In ${noun} ${number} of the batch: ${message}`, details);
}

/** The number of requests in a chunk of lines. */
export function countRequests(chunk: Uint8Array): number {
  return linesOf(chunk).length;
}

/**
 * One client of a round: sends its call, reads or leaves as planned, and records what it saw. Nothing here throws.
 */
import { Agent, request } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { LETTER, LETTER_BYTES } from './fate.ts';
import type { CallPlan } from './plan.ts';

const ENDS = /\[DONE\]|message_stop|response\.completed|response\.incomplete/;
const ENDED = /^data: \[DONE\]$|^event: (?:message_stop|response\.completed|response\.incomplete)$/m;
const RESPONSE_EVENTS = /^event: response\./m;

/** Events of a response repeat its text once it is whole. */
function generated(text: string): string {
  if (!RESPONSE_EVENTS.test(text)) return text;
  const deltas = text.split('\n').filter((line) => line.includes('"response.output_text.delta"'));
  return deltas.join('');
}

export interface CallLog {
  readonly plan: CallPlan;
  /** Milliseconds since the epoch. */
  readonly sentMs: number;
  readonly overMs: number;
  /** '' if no response head arrived. */
  readonly id: string;
  /** 0: no response head arrived. */
  readonly status: number;
  /**
   * Whole: everything of an answer, or of an error. Error: of a stream, its error event. None: it was broken off, or
   * left.
   */
  readonly end: 'Whole' | 'Error' | 'None';
  /** The client itself left. */
  readonly left: boolean;
  /** Bytes of generated text. */
  readonly textBytes: number;
  readonly costUsd: string | undefined;
  readonly maxTokens: string | undefined;
  /** The beginning of what came. */
  readonly said: string;
  /** Nothing arrived for longer than any provider or gateway may take. */
  readonly hung: boolean;
}

export interface Send {
  readonly url: string;
  readonly key: string;
  readonly plan: CallPlan;
  /** Called in the turn in which the end of a good answer is seen. */
  readonly ended: () => void;
}

const HANG_MS = 45_000;
const SAID = 4_000;
/** Some clients keep connections alive, some do not. */
const agents = [
  new Agent({ keepAlive: true, maxSockets: 500 }),
  new Agent({ keepAlive: false, maxSockets: 500 }),
] as const;

export function closeConnections(): void {
  for (const agent of agents) agent.destroy();
}

export function send({ url, key, plan, ended }: Send): Promise<CallLog> {
  return new Promise((resolve) => new Client(plan, ended, resolve).run(url, key));
}

class Client {
  readonly #plan: CallPlan;
  readonly #ended: () => void;
  readonly #done: (log: CallLog) => void;
  readonly #sentMs = Date.now();
  readonly #deadline: NodeJS.Timeout;
  #request: ClientRequest | undefined;
  #response: IncomingMessage | undefined;
  #text = '';
  #pieces = 0;
  #complete = false;
  #left = false;
  #hung = false;
  #over = false;

  constructor(plan: CallPlan, ended: () => void, done: (log: CallLog) => void) {
    this.#plan = plan;
    this.#ended = ended;
    this.#done = done;
    this.#deadline = setTimeout(() => {
      this.#hung = true;
      this.#request?.destroy();
      this.#finish();
    }, HANG_MS);
  }

  run(url: string, key: string): void {
    const { path, body, n, fault, leaving } = this.#plan;
    const sent = Buffer.from(fault === 'broken JSON' ? body.slice(0, -1) : body);
    const credential =
      path === '/v1/messages' && n % 2 === 0 ? { 'x-api-key': key } : { authorization: `Bearer ${key}` };
    const headers = { 'content-type': 'application/json', 'content-length': sent.length, ...credential };
    const asked = (this.#request = request(url + path, {
      method: 'POST',
      headers,
      agent: agents[n % 5 === 0 ? 1 : 0],
    }));
    asked.on('response', (response) => this.#read(response));
    asked.on('error', () => undefined);
    asked.on('close', () => this.#finish());
    if (leaving.stage === 'half body') return void asked.write(sent.subarray(0, sent.length >> 1), () => this.#leave());
    if (leaving.stage === 'sent') asked.on('finish', () => this.#leave());
    if (leaving.stage === 'waits') setTimeout(() => this.#leave(), leaving.ms);
    if (fault === 'dripped') this.#drip(asked, sent);
    else asked.end(sent);
  }

  #drip(asked: ClientRequest, body: Buffer, from = 0): void {
    const step = Math.ceil(body.length / 5);
    if (asked.destroyed) return;
    if (from >= body.length) return void asked.end();
    asked.write(body.subarray(from, from + step));
    setTimeout(() => this.#drip(asked, body, from + step), 30);
  }

  #read(response: IncomingMessage): void {
    this.#response = response;
    if (this.#plan.leaving.stage === 'head') this.#leave();
    response.setEncoding('utf8');
    response.on('data', (piece: string) => this.#take(piece));
    response.on('end', () => {
      this.#complete = response.complete;
      if (response.statusCode === 200) this.#ended();
      this.#finish();
    });
    response.on('error', () => undefined);
    response.on('close', () => this.#finish());
  }

  #take(piece: string): void {
    this.#text += piece;
    this.#pieces++;
    const { leaving, fault } = this.#plan;
    if (ENDS.test(piece)) this.#ended();
    if (leaving.stage === 'mid-stream' && this.#pieces >= leaving.pieces) this.#leave();
    if (
      leaving.stage === 'before end' &&
      /"finish_reason":"|"message_delta"|"response.output_item.done"/.test(this.#text)
    )
      this.#leave();
    if (fault !== 'slow reader' || this.#pieces > 3) return;
    this.#response?.pause();
    setTimeout(() => this.#response?.resume(), 200);
  }

  #leave(): void {
    if (this.#over) return;
    this.#left = true;
    this.#request?.destroy();
    this.#finish();
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#deadline);
    const header = (name: string): string | undefined => this.#response?.headers[name]?.toString();
    this.#done({
      plan: this.#plan,
      sentMs: this.#sentMs,
      overMs: Date.now(),
      left: this.#left,
      hung: this.#hung,
      id: header('x-request-id') ?? '',
      status: this.#response?.statusCode ?? 0,
      end: this.#end(),
      textBytes: (generated(this.#text).split(LETTER).length - 1) * LETTER_BYTES,
      costUsd: header('x-modelgateway-cost-usd'),
      maxTokens: header('x-modelgateway-max-tokens'),
      said: this.#text.slice(0, SAID),
    });
  }

  #end(): CallLog['end'] {
    if (!(this.#response?.headers['content-type'] ?? '').startsWith('text/event-stream'))
      return this.#complete ? 'Whole' : 'None';
    if (/^event: (?:error|response\.failed)$|^data: \{"error"/m.test(this.#text)) return 'Error';
    return ENDED.test(this.#text) ? 'Whole' : 'None';
  }
}

/**
 * One bucket of the ledger: what is asked of it in one turn of the event loop travels as one batch, which the script
 * executes whole or not at all. A bucket is open while the server answers, has the epoch that this process knows, and
 * remembers what it acknowledged to it. Otherwise it refuses, finds out what happened, and puts back what this process
 * knows (docs/design/valkey.md, "Epochs").
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LedgerUnavailable } from '../ledger.ts';
import type { Link } from './link.ts';
import { encodeBatch } from './operations.ts';
import type { Operation } from './operations.ts';
import { parseReplies, parseReply, Unanswered } from './replies.ts';
import type { Reply } from './replies.ts';

export interface BucketSettings {
  /** This process, for as long as it lives. */
  readonly instance: string;
  /** An instance that is silent for so long is dead: its holds are billed, and its slots are free. */
  readonly leaseMs: number;
  /** How long records and the ids of settled calls are kept. */
  readonly keepMs: number;
  readonly records: number;
  /** How long limits of a later generation keep earlier ones away. */
  readonly generationMs: number;
  /** Earlier limits are accepted if they equal later ones: see ValkeyLedgerOptions.ownGenerations. */
  readonly lenient: boolean;
  /** How long a store that lost something waits for what all processes know. */
  readonly refillMs: number;
  /** What is not answered by then is refused. */
  readonly timeoutMs: number;
  /** Undefined: the server's. */
  readonly clock: (() => number) | undefined;
}

/**
 * Why a process puts back what it knows: it has just started, the store was empty, or it had lost its latest writes.
 */
export type RejoinReason = 'Start' | 'Empty' | 'Lost';

export interface Rejoined {
  readonly reason: RejoinReason;
  /** How many of the operations that put something back were news to the store. */
  readonly restored: number;
  /** Whatever follows is in this epoch. */
  readonly epoch: string;
}

export interface BucketDeps {
  readonly link: Link;
  /** Begins all its keys. */
  readonly base: string;
  readonly settings: BucketSettings;
  /** What this process knows that the store may not know. */
  readonly contribute: (reason: RejoinReason, epoch: string) => Promise<readonly Operation[]>;
  readonly onRejoined: (rejoined: Rejoined) => void;
  readonly onState: (state: 'Open' | 'Refilling' | 'Down', reason: string) => void;
}

/** Why the script executes no batch, and that in words. */
const REFUSALS = {
  empty: 'the store is empty', lost: 'the store has lost what it acknowledged',
  epoch: 'the store has begun anew', refilling: 'the store is being filled again',
} as const;
type Refusal = keyof typeof REFUSALS;

/** An operation that waits for its reply. */
interface Request {
  readonly operation: Operation;
  /** It is sent again until it is answered. Otherwise it is refused at its timeout. */
  readonly untilAnswered: boolean;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: LedgerUnavailable) => void;
  sent: boolean;
  done: boolean;
  timer: NodeJS.Timeout | undefined;
}

const MAX_BATCH_OPERATIONS = 64;
/** While so many batches are under way, further operations wait and gather. */
const MAX_BATCHES = 2;
const RETRY_MS = 100;
/** A timer that is so late tells that the process itself stood still. */
const STALL_MS = 25;
const RESTORED = new Set(['adopted', 'refilled']);

export class Bucket {
  readonly #deps: BucketDeps;
  #queue: Request[] = [];
  #batches: (readonly Request[])[] = [];
  #state: 'Open' | 'Refilling' | 'Down' | 'Closed' = 'Down';
  #reason = 'the server has not been reached yet';
  #recovering = false;
  #scheduled = false;
  #epoch = '';
  /** Numbers the batches; `#acked` is the latest that was acknowledged. */
  #seq = 0;
  #acked = 0;
  /** What the script last said of the epoch. */
  #said = { id: '', mode: '', remainingMs: 0 };

  constructor(deps: BucketDeps) {
    this.#deps = deps;
  }

  get open(): boolean {
    return this.#state === 'Open';
  }

  /** Why it is not open. */
  get reason(): string {
    return this.#reason;
  }

  get hasWork(): boolean {
    return this.#queue.length + this.#batches.length > 0;
  }

  start(): void {
    this.#recover(this.#reason);
  }

  /**
   * Rejects with LedgerUnavailable where the answer does not come in time, as Unanswered if it may have been executed.
   */
  ask(operation: Operation): Promise<Reply> {
    return this.#submit(operation, false);
  }

  /**
   * Executed as soon as the server takes it, once or more often. Rejects only where the script fails, or at the close.
   */
  askUntilAnswered(operation: Operation): Promise<Reply> {
    return this.#submit(operation, true);
  }

  /** Refuses everything that is not answered. No reply counts after it. */
  close(): void {
    this.#state = 'Closed';
    this.#reason = 'the ledger is closed';
    for (const request of [...this.#batches.splice(0).flat(), ...this.#queue.splice(0)]) this.#refuse(request);
  }

  #submit(operation: Operation, untilAnswered: boolean): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const state = { sent: false, done: false, timer: undefined };
      const request: Request = { operation, untilAnswered, resolve, reject, ...state };
      if (untilAnswered ? this.#state === 'Closed' : this.#state !== 'Open') return this.#refuse(request);
      if (!untilAnswered) this.#startTimeout(request, this.#deps.settings.timeoutMs);
      this.#queue.push(request);
      this.#schedule();
    });
  }

  /** Time in which this process stood still does not count, and a reply that has come meanwhile is read first. */
  #startTimeout(request: Request, ms: number): void {
    const dueMs = performance.now() + ms;
    request.timer = setTimeout(() => {
      const lateMs = performance.now() - dueMs;
      if (lateMs > STALL_MS) this.#startTimeout(request, lateMs);
      else setImmediate(() => this.#expire(request));
    }, ms).unref();
  }

  #expire(request: Request): void {
    if (request.done) return;
    finish(request, () => request.reject(refusal(request, 'the ledger does not answer')));
    this.#recover('the server does not answer in time');
  }

  #schedule(): void {
    if (this.#scheduled || !this.#canSend()) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      while (this.#canSend()) void this.#send(this.#queue.splice(0, MAX_BATCH_OPERATIONS));
    });
  }

  #canSend(): boolean {
    return this.#state === 'Open' && this.#batches.length < MAX_BATCHES && this.#queue.length > 0;
  }

  async #send(taken: readonly Request[]): Promise<void> {
    const batch = taken.filter(({ done }) => !done);
    if (batch.length === 0) return;
    this.#batches.push(batch);
    for (const request of batch) request.sent = true;
    let replies: readonly string[] | string;
    try {
      const answer = await this.#run('', batch.map(({ operation }) => operation));
      replies = typeof answer === 'string' ? REFUSALS[answer] : answer;
    } catch (error) {
      replies = messageOf(error);
    }
    // it was refused if the ledger was closed meanwhile
    if (!this.#batches.includes(batch)) return;
    this.#batches = this.#batches.filter((other) => other !== batch);
    if (typeof replies === 'string') this.#failed(batch, replies);
    else for (const [index, request] of batch.entries()) answerRequest(request, parseReply(replies[index + 1] ?? ''));
    this.#schedule();
  }

  #failed(batch: readonly Request[], reason: string): void {
    // first, since who is refused is told the reason
    this.#recover(reason);
    for (const request of batch) if (!request.untilAnswered) this.#refuse(request);
    this.#queue.unshift(...batch.filter(({ untilAnswered }) => untilAnswered));
  }

  #refuse(request: Request): void {
    finish(request, () => request.reject(refusal(request, `the ledger cannot promise anything now: ${this.#reason}`)));
  }

  /** The replies from the second on, or the word with which the script executed nothing. */
  async #run(mode: '' | 'refill', operations: readonly Operation[]): Promise<readonly string[] | Refusal> {
    const seq = ++this.#seq;
    const epoch = this.#epoch;
    const { link, base } = this.#deps;
    const replies = parseReplies(await link.run(base, encodeBatch(this.#head(mode, seq), operations)));
    const [word = '', id = '', epochMode = '', remainingMs] = replies;
    if (word === 'ok') {
      if (this.#epoch === epoch) this.#acked = Math.max(this.#acked, seq);
      return replies;
    }
    if (!isRefusal(word)) throw new Error(`the ledger's script said ${word}`);
    this.#said = { id, mode: epochMode, remainingMs: Number(remainingMs) };
    return word;
  }

  #head(mode: string, seq: number): string[] {
    const { clock, instance, leaseMs, keepMs, records, generationMs, lenient } = this.#deps.settings;
    return [
      clock ? String(clock()) : '', instance, this.#epoch, String(this.#acked), String(seq), mode,
      String(leaseMs), String(keepMs), String(records), String(generationMs), lenient ? '1' : '',
    ];
  }

  #recover(reason: string): void {
    if (this.#state === 'Closed' || this.#recovering) return;
    this.#recovering = true;
    this.#become('Down', reason);
    this.#rejoin().catch((error: unknown) => this.#become('Down', messageOf(error))).finally(() => {
      this.#recovering = false;
      this.#schedule();
    });
  }

  #become(state: 'Open' | 'Refilling' | 'Down', reason: string): void {
    if (this.#state === 'Closed') return;
    this.#state = state;
    this.#reason = reason;
    this.#deps.onState(state, reason);
  }

  /** Ends when the bucket is open, or closed. */
  async #rejoin(): Promise<void> {
    const rejoining: { reason: RejoinReason | undefined } = { reason: undefined };
    while (this.#state !== 'Closed') {
      try {
        if (await this.#advance(rejoining)) return this.#become('Open', '');
      } catch (error) {
        this.#become('Down', messageOf(error));
        await pause(RETRY_MS);
      }
    }
  }

  /** One step towards an open bucket; true: it is open. */
  async #advance(rejoining: { reason: RejoinReason | undefined }): Promise<boolean> {
    switch (await this.#run(rejoining.reason ? 'refill' : '', [])) {
      case 'empty': return this.#foundEpoch('');
      case 'lost': return this.#foundEpoch(this.#epoch);
      case 'epoch':
        rejoining.reason = this.#epoch === '' ? 'Start' : this.#said.mode === 'set' ? 'Empty' : 'Lost';
        this.#epoch = this.#said.id;
        this.#acked = 0;
        return false;
      case 'refilling':
        this.#become('Refilling', 'the store had lost something, and waits for what all processes know');
        await pause(Math.min(this.#said.remainingMs, RETRY_MS * 10));
        return false;
      default:
        if (!rejoining.reason) return true;
        await this.#contribute(rejoining.reason);
        rejoining.reason = undefined;
        return false;
    }
  }

  async #foundEpoch(after: string): Promise<false> {
    const { link, base, settings } = this.#deps;
    const head = [...this.#head('found', this.#seq), randomUUID(), after, String(settings.refillMs)];
    await link.run(base, encodeBatch(head, []));
    return false;
  }

  async #contribute(asked: RejoinReason): Promise<void> {
    // a process that starts when a store begins anew has as much to contribute as one that was there
    const beginsAnew = asked === 'Start' && this.#said.remainingMs > 0 && this.#said.mode === 'set';
    const reason = beginsAnew ? 'Empty' : asked;
    const operations = await this.#deps.contribute(reason, this.#epoch);
    let restored = 0;
    for (let at = 0; at < operations.length; at += MAX_BATCH_OPERATIONS) {
      const replies = await this.#run('refill', operations.slice(at, at + MAX_BATCH_OPERATIONS));
      if (typeof replies === 'string') throw new Error(`the store changed while it was filled: ${replies}`);
      restored += replies.slice(1).map(parseReply).filter(([word = '']) => RESTORED.has(word)).length;
    }
    this.#deps.onRejoined({ reason, restored, epoch: this.#epoch });
  }
}

function answerRequest(request: Request, reply: Reply): void {
  finish(request, () => {
    if (reply[0] !== 'error') request.resolve(reply);
    else request.reject(new Unanswered(`the ledger's script failed at ${request.operation.name}: ${reply[1] ?? ''}`));
  });
}

/** Only the first end of a request counts. */
function finish(request: Request, end: () => void): void {
  if (request.done) return;
  request.done = true;
  clearTimeout(request.timer);
  end();
}

function refusal({ sent }: Request, reason: string): LedgerUnavailable {
  return sent ? new Unanswered(reason) : new LedgerUnavailable(reason);
}

function isRefusal(word: string): word is Refusal {
  return Object.hasOwn(REFUSALS, word);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Does not keep the process alive. */
function pause(ms: number): Promise<void> {
  return sleep(ms, undefined, { ref: false });
}

/**
 * One bucket of the ledger: what is asked of it in a turn of the event loop travels as one batch, which the script takes whole
 * or not at all. A bucket is open while the server answers, knows the epoch that this process knows, and remembers what it
 * acknowledged to it; otherwise everything prompt is refused at once, and this process finds out what happened and puts back
 * what it knows (docs/design/valkey.md, "Epochs").
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { atTurnsEnd } from '../../turn.ts';
import { Deadlines } from '../deadlines.ts';
import { LedgerUnavailable } from '../ledger.ts';
import type { Link } from './link.ts';
import { encodeBatch, encodeStep, nameOf, parseReplies, parseReply } from './steps.ts';
import type { Reply, Step } from './steps.ts';
import { Question } from './work.ts';
import type { Place, Work } from './work.ts';

export interface BucketSettings {
  /** This process, for as long as it lives. */
  readonly instance: string;
  /** After so long without a word of a process its holds are billed and its slots free. */
  readonly leaseMs: number;
  /** So long records and the ids of settled calls are kept. */
  readonly keepMs: number;
  readonly records: number;
  /** So long limits of a later generation keep earlier ones away. */
  readonly generationMs: number;
  /** Whether earlier limits that are the same as later ones are taken: see openValkeyLedger. */
  readonly lenient: boolean;
  /** So long a store that lost something waits for what all processes know. */
  readonly refillMs: number;
  /** What is not answered by then is refused. */
  readonly patienceMs: number;
  /** Undefined: the server's. */
  readonly clock: (() => number) | undefined;
}

/** Why a process puts back what it knows: it has just come, the store was empty, or had lost the end of what was written. */
export type Rejoining = 'Start' | 'Empty' | 'Lost';

export interface BucketDeps {
  readonly link: Link;
  readonly base: string;
  readonly settings: BucketSettings;
  /** What this process knows that the store may not know. */
  readonly contribute: (why: Rejoining, epoch: string) => Promise<readonly Step[]>;
  /** How many of these were news to the store. What comes is in this epoch. */
  readonly onRejoined: (rejoined: { readonly why: Rejoining; readonly putBack: number; readonly epoch: string }) => void;
  readonly onState: (state: 'Open' | 'Refilling' | 'Down', reason: string) => void;
}

/** Why the script takes no batch, and that in words. */
const REFUSALS = {
  empty: 'the store is empty', lost: 'the store has lost what it acknowledged', epoch: 'the store has begun anew', refilling: 'the store is being filled again',
} as const;
type Refusal = keyof typeof REFUSALS;

const MOST_STEPS = 64;
/** While so many batches are on their way, further work waits and gathers. */
const MOST_BATCHES = 2;
const RETRY_MS = 100;
const PUT_BACK = new Set(['adopted', 'refilled']);

export class Bucket implements Place {
  readonly #deps: BucketDeps;
  readonly #deadlines: Deadlines;
  /** As every batch says them. */
  readonly #settings: readonly string[];
  #queue: Work[] = [];
  #state: 'Open' | 'Refilling' | 'Down' | 'Closed' = 'Down';
  #reason = 'the server has not been reached yet';
  #recovering = false;
  #scheduled = false;
  /** On their way; a list, as a set that is entered and left so often keeps what left it alive. */
  #batches: (readonly Work[])[] = [];
  #epoch = '';
  #seq = 0;
  #acked = 0;

  constructor(deps: BucketDeps) {
    this.#deps = deps;
    const { patienceMs, leaseMs, keepMs, records, generationMs, lenient } = deps.settings;
    this.#deadlines = new Deadlines(patienceMs);
    this.#settings = [String(leaseMs), String(keepMs), String(records), String(generationMs), lenient ? '1' : ''];
  }

  get open(): boolean {
    return this.#state === 'Open';
  }

  /** Why it is not open. */
  get reason(): string {
    return this.#reason;
  }

  /** Work that is not done yet, of the kind that will be. */
  get unfinished(): number {
    return this.#queue.length + this.#batches.length;
  }

  start(): void {
    this.#recover('the server has not been reached yet');
  }

  /** Refused at once where nothing can be promised. */
  submit(work: Work): void {
    if (work.sure ? this.#state === 'Closed' : this.#state !== 'Open') return work.refuse(this.#unavailable(), false);
    if (!work.sure) this.#deadlines.wait(work);
    this.#queue.push(work);
    this.#schedule();
  }

  /** Answered soon, or refused; what is refused may have been done. */
  ask(step: Step): Promise<Reply> {
    return new Promise((resolve, reject) => this.submit(new Question(this, { step, sure: false }, { resolve, reject })));
  }

  /** Done as soon as the server takes it, however long that is; once or more often. Rejects only where the ledger is closed. */
  askSurely(step: Step): Promise<Reply> {
    return new Promise((resolve, reject) => this.submit(new Question(this, { step, sure: true }, { resolve, reject })));
  }

  missedDeadline(): void {
    this.#recover('the server does not answer in time');
  }

  /** Everything that is not done is refused by when this returns, and no answer counts after it. */
  close(): void {
    this.#state = 'Closed';
    this.#reason = 'the ledger is closed';
    for (const work of [...this.#batches.splice(0).flat(), ...this.#queue.splice(0)]) this.#refuse(work);
  }

  #schedule(): void {
    if (this.#scheduled || this.#state !== 'Open' || this.#batches.length >= MOST_BATCHES || this.#queue.length === 0) return;
    this.#scheduled = true;
    atTurnsEnd(() => {
      this.#scheduled = false;
      while (this.#state === 'Open' && this.#batches.length < MOST_BATCHES && this.#queue.length > 0) void this.#send(this.#queue.splice(0, MOST_STEPS));
    });
  }

  async #send(taken: readonly Work[]): Promise<void> {
    const batch = taken.filter(({ sure, over }) => sure || !over);
    if (batch.length === 0) return;
    this.#batches.push(batch);
    let replies: readonly string[] | string;
    try {
      const said = await this.#run('', batch.map(({ text }) => text));
      replies = typeof said === 'string' ? REFUSALS[said] : said;
    } catch (error) {
      replies = error instanceof Error ? error.message : String(error);
    }
    // closed meanwhile: it was refused
    if (!this.#batches.includes(batch)) return;
    this.#batches = this.#batches.filter((other) => other !== batch);
    if (typeof replies === 'string') this.#failed(batch, replies);
    else for (const [index, work] of batch.entries()) this.#answer(work, parseReply(replies[index + 1] ?? ''));
    this.#schedule();
  }

  #answer(work: Work, reply: Reply): void {
    if (!work.sure) {
      if (work.over) return;
      work.over = true;
    }
    try {
      if (reply[0] === 'error') work.refuse(new LedgerUnavailable(`the ledger's script failed at ${nameOf(work.text)}: ${reply[1] ?? ''}`), true);
      else work.answer(reply);
    } catch (error) {
      // a reply that cannot be read is its own call's trouble
      work.refuse(new LedgerUnavailable(`the ledger's script was not understood at ${nameOf(work.text)}: ${String(error)}`), true);
    }
  }

  #failed(batch: readonly Work[], reason: string): void {
    // first, since those who are refused are told why
    this.#recover(reason);
    for (const work of batch) if (!work.sure) this.#refuse(work);
    this.#queue.unshift(...batch.filter((work) => work.sure));
  }

  #refuse(work: Work): void {
    if (!work.sure) {
      if (work.over) return;
      work.over = true;
    }
    work.refuse(this.#unavailable(), true);
  }

  #unavailable(): LedgerUnavailable {
    return new LedgerUnavailable(`the ledger cannot promise anything now: ${this.#reason}`);
  }

  /** The replies from the second on, or the word with which the script took nothing. */
  async #run(mode: '' | 'refill', steps: readonly string[]): Promise<readonly string[] | Refusal> {
    const seq = ++this.#seq;
    const epoch = this.#epoch;
    const replies = parseReplies(await this.#deps.link.run(this.#deps.base, encodeBatch(this.#head(mode, seq), steps)));
    if (replies[0] !== 'ok') return this.#note(replies);
    if (this.#epoch === epoch) this.#acked = Math.max(this.#acked, seq);
    return replies;
  }

  /** The script took nothing: why, and what it says of the epoch. */
  #note([word = '', id = '', mode = '', remainingMs]: readonly string[]): Refusal {
    if (!isRefusal(word)) throw new Error(`the ledger's script said ${word}`);
    this.#said = { id, mode, remainingMs: Number(remainingMs) };
    return word;
  }

  /** What the script last said of the epoch. */
  #said = { id: '', mode: '', remainingMs: 0 };

  #head(mode: string, seq: number): string[] {
    const { clock, instance } = this.#deps.settings;
    return [clock ? String(clock()) : '', instance, this.#epoch, String(this.#acked), String(seq), mode, ...this.#settings];
  }

  #recover(reason: string): void {
    if (this.#state === 'Closed' || this.#recovering) return;
    this.#recovering = true;
    this.#become('Down', reason);
    this.#rejoin().catch((error: unknown) => this.#become('Down', String(error))).finally(() => {
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
    const life: { why: Rejoining | undefined } = { why: undefined };
    while (this.#state !== 'Closed') {
      try {
        if (await this.#advance(life)) return this.#become('Open', '');
      } catch (error) {
        this.#become('Down', error instanceof Error ? error.message : String(error));
        await pause(RETRY_MS);
      }
    }
  }

  /** One step towards an open bucket; true: it is. */
  async #advance(life: { why: Rejoining | undefined }): Promise<boolean> {
    const replies = await this.#run(life.why ? 'refill' : '', []);
    switch (replies) {
      case 'empty': return this.#found('');
      case 'lost': return this.#found(this.#epoch);
      case 'epoch':
        life.why = this.#epoch === '' ? 'Start' : this.#said.mode === 'set' ? 'Empty' : 'Lost';
        this.#epoch = this.#said.id;
        this.#acked = 0;
        return false;
      case 'refilling':
        this.#become('Refilling', 'the store had lost something, and waits for what all processes know');
        await pause(Math.min(this.#said.remainingMs, RETRY_MS * 10));
        return false;
      default:
        if (!life.why) return true;
        await this.#contribute(life.why);
        life.why = undefined;
        return false;
    }
  }

  async #found(after: string): Promise<false> {
    const { link, base, settings } = this.#deps;
    await link.run(base, encodeBatch([...this.#head('found', this.#seq), randomUUID(), after, String(settings.refillMs)], []));
    return false;
  }

  async #contribute(why: Rejoining): Promise<void> {
    // a process that comes when a store begins anew has as much to tell as one that was there
    const anew = why === 'Start' && this.#said.remainingMs > 0 && this.#said.mode === 'set';
    const steps = await this.#deps.contribute(anew ? 'Empty' : why, this.#epoch);
    let putBack = 0;
    for (let at = 0; at < steps.length; at += MOST_STEPS) {
      const replies = await this.#run('refill', steps.slice(at, at + MOST_STEPS).map(encodeStep));
      if (typeof replies === 'string') throw new Error(`the store changed while it was filled: ${replies}`);
      putBack += replies.slice(1).map(parseReply).filter(([word = '']) => PUT_BACK.has(word)).length;
    }
    this.#deps.onRejoined({ why: anew ? 'Empty' : why, putBack, epoch: this.#epoch });
  }
}

function isRefusal(word: string): word is Refusal {
  return Object.hasOwn(REFUSALS, word);
}

/** Does not keep the process. */
function pause(ms: number): Promise<void> {
  return sleep(ms, undefined, { ref: false });
}

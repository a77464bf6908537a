/**
 * Passes on the events of a stream that are like one that was read in full, without reading them, or converts them as that one was:
 * it learns patterns from what is read, and takes from the front of the bytes whatever matches one.
 */
import type { EventPattern } from './event-pattern.ts';
import type { Rewrite } from './event-rewrite.ts';
import type { Outgoing } from './outgoing.ts';
import type { SseEvent, Skimmer } from './sse.ts';

/** The part of a stream's state machine that lets events pass. */
export interface Skimming {
  /** With the event that was taken last, everything that was learnt before has become wrong. Absent: it stays right. */
  readonly outdated?: boolean;
  /** From the event that was taken last, and what its client got of it, if anything. Undefined: its like must be read. */
  learn(event: SseEvent, passed: Uint8Array | undefined): EventPattern | undefined;
  /** Events of learnt patterns have passed, with so many bytes of generated text. */
  skimmed(outputBytes: number): void;
}

/** Streams take turns between few kinds of events: several answers, text and tool calls. */
const MOST_PATTERNS = 4;
/** So many events may be looked at for nothing; after that, only where it has paid. */
const FREE_LESSONS = 8;
const EVENTS_PER_LESSON = 8;

export class Skim implements Skimmer {
  readonly #handler: Skimming;
  readonly #outgoing: Outgoing;
  /** The one that matched last is tried first. */
  readonly #patterns: EventPattern[] = [];
  #lessons = 0;
  #events = 0;
  /** Where the event ended that was passed last. */
  #end = 0;

  constructor(handler: Skimming, outgoing: Outgoing) {
    this.#handler = handler;
    this.#outgoing = outgoing;
  }

  learn(event: SseEvent, passed: Uint8Array | undefined): void {
    // it begins something new, and is no lesson itself
    if (this.#handler.outdated === true) return void (this.#patterns.length = 0);
    if (this.#lessons >= FREE_LESSONS && this.#lessons * EVENTS_PER_LESSON > this.#events) return;
    this.#lessons++;
    const pattern = this.#handler.learn(event, passed);
    if (!pattern) return;
    this.#patterns.unshift(pattern);
    if (this.#patterns.length > MOST_PATTERNS) this.#patterns.pop();
  }

  skim(store: Buffer, from: number, to: number): number {
    let at = from;
    let outputBytes = 0;
    for (let pattern = this.#passOne(store, at, to); pattern; pattern = this.#passOne(store, at, to)) {
      at = this.#end;
      outputBytes += pattern.outputBytes;
      this.#events++;
    }
    if (at > from) this.#handler.skimmed(outputBytes);
    return at;
  }

  #passOne(store: Buffer, from: number, to: number): EventPattern | undefined {
    for (let index = 0; index < this.#patterns.length; index++) {
      const pattern = this.#patterns[index];
      const end = pattern?.match(store, from, to) ?? -1;
      if (!pattern || end < 0) continue;
      if (index > 0) this.#patterns.unshift(...this.#patterns.splice(index, 1));
      this.#end = end;
      if (pattern.rewrite) this.#rewrite(pattern, pattern.rewrite, store);
      else this.#pass(pattern, store, from);
      return pattern;
    }
    return undefined;
  }

  #rewrite(pattern: EventPattern, rewrite: Rewrite, store: Buffer): void {
    this.#outgoing.wrap(rewrite, store, pattern.textFrom, pattern.textTo);
    rewrite.heed?.(pattern, store);
  }

  #pass({ cutAt, cutBytes }: EventPattern, store: Buffer, from: number): void {
    if (cutAt < 0) return this.#outgoing.pass(store, from, this.#end);
    this.#outgoing.pass(store, from, cutAt);
    this.#outgoing.pass(store, cutAt + cutBytes, this.#end);
  }
}

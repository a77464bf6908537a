/**
 * A gateway before exact fakes of a cloud and its token service, with the official clients in front of it and books
 * that check what each call costs.
 */
import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { startClouds } from '../api/clouds.ts';
import type { Clouds, CloudsOptions } from '../api/clouds.ts';
import { anthropicClient, Books, openaiClient } from '../api/sdk.ts';

const DAY_MS = 86_400_000;

export interface CloudWorld {
  readonly clouds: Clouds;
  /** They do not retry. */
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
  readonly books: Books;
  /** The gateway's time; it is a day later in each test, so that every token of an earlier one has expired. */
  readonly clock: { nowMs: number };
  /** Called before and after each test. */
  readonly beginTest: () => Promise<void>;
  readonly endTest: () => void;
  readonly stop: () => Promise<void>;
}

/** `realTime`: for clients that compare what they get with the time of the machine. */
export async function startCloudWorld({
  realTime = false,
  ...options
}: Omit<CloudsOptions, 'nowMs'> & { readonly realTime?: boolean }): Promise<CloudWorld> {
  const clock = { nowMs: 1_800_000_000_000 };
  const clouds = await startClouds({ ...options, ...(!realTime && { nowMs: () => clock.nowMs }) });
  const books = new Books(clouds);
  return {
    clouds,
    openai: openaiClient(clouds, { maxRetries: 0 }),
    anthropic: anthropicClient(clouds, { maxRetries: 0 }),
    books,
    clock,
    async beginTest() {
      await books.open();
      clock.nowMs += DAY_MS;
    },
    endTest() {
      books.assertChecked();
      clouds.cloud.clear();
    },
    stop: () => clouds.stop(),
  };
}

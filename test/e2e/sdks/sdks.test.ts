/**
 * The official SDKs of OpenAI, Anthropic and Google in Python, Go and Java, unchanged, at every endpoint that they have
 * a method for. The programs check what comes back; here are the bills. api/sdk-* does the same in JavaScript, with
 * prices checked call by call.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, it, vi } from 'vitest';
import { readUsageFile } from '../../../dataplane/ledger/embedded/usage-file.ts';
import type { UsageRecord } from '#usage/record.ts';
import { wavFile } from '../../support/audio-files.ts';
import { runCommand } from '../clients/run.ts';
import { startSdksGateway } from './gateway.ts';
import type { SdksGateway } from './gateway.ts';
import { installSdks } from './install.ts';
import type { Installed, Language } from './install.ts';

const LANGUAGES: readonly Language[] = ['python', 'go', 'java'];

/** The calls that cost something; a continued response is two. */
const BILLED = [
  'chat',
  'chat stream',
  'responses',
  'responses stream',
  'responses continued',
  'responses continued',
  'conversations',
  'completions',
  'embeddings',
  'moderations',
  'images',
  'images stream',
  'image edits',
  'image variations',
  'speech',
  'transcriptions',
  'translations',
  'videos',
  'batches',
  'messages',
  'messages stream',
  'message batches',
  'generateContent',
  'generateContent stream',
  'embedContent',
];
const FREE = ['models', 'count tokens'];
/** What the SDKs of one language alone have methods for. */
const BILLED_ALONE: Readonly<Partial<Record<Language, readonly string[]>>> = { python: ['realtime'] };

/** Records are written in batches. */
const WRITTEN_MS = 60_000;

/** One pixel. */
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('the official SDKs', () => {
  let sdks: SdksGateway;
  let work: string;
  const installed = new Map<Language, Installed>();

  beforeAll(async () => {
    for (const language of LANGUAGES) installed.set(language, await installSdks(language));
    sdks = await startSdksGateway(LANGUAGES);
    work = await mkdtemp(join(tmpdir(), 'mgw-sdks-'));
    await writeFile(join(work, 'picture.png'), Buffer.from(PICTURE, 'base64'));
    await writeFile(join(work, 'speech.wav'), wavFile(2));
  });
  afterAll(async () => {
    await sdks.stop();
    await rm(work, { recursive: true, force: true });
  });

  async function callsOf(language: Language, [file = '', ...args]: readonly string[]): Promise<string[]> {
    const { output } = await runCommand({
      file,
      args,
      cwd: work,
      env: {
        MGW_URL: sdks.gateway.url,
        MGW_KEY: sdks.keyOf(language),
        MGW_PICTURE: join(work, 'picture.png'),
        MGW_SPEECH: join(work, 'speech.wav'),
      },
    });
    const lines = output.split('\n').filter((line) => line.startsWith('{'));
    const calls = lines.map((line) => JSON.parse(line) as { readonly call: string; readonly error?: string });
    assert.deepEqual(
      calls.filter(({ error }) => error !== undefined),
      [],
      output,
    );
    return calls.map(({ call }) => call);
  }

  function recordsOf(language: Language): UsageRecord[] {
    const records = readUsageFile(join(sdks.gateway.dataDir, 'ledger.db'), {});
    return [...records].filter(({ keyName }) => keyName === language);
  }

  for (const language of LANGUAGES)
    it(`of ${language} make every call, and each is billed once`, async ({ skip }) => {
      const ready = installed.get(language);
      if (ready?.skip !== false) return skip(ready?.skip);
      const calls = await callsOf(language, ready.command);
      const billedCalls = [...BILLED, ...(BILLED_ALONE[language] ?? [])];
      assert.deepEqual(calls.toSorted(), [...new Set([...billedCalls, ...FREE])].toSorted());
      const records = await vi.waitFor(
        () => {
          const billed = recordsOf(language).filter(({ costNanoUsd }) => costNanoUsd > 0n);
          assert.equal(billed.length, billedCalls.length, billed.map(({ model }) => model).join());
          return billed;
        },
        { timeout: WRITTEN_MS },
      );
      assert.deepEqual(new Set(records.map(({ status }) => status)), new Set(['Succeeded']));
      const sum = records.reduce((total, { costNanoUsd }) => total + costNanoUsd, 0n);
      assert.deepEqual(await sdks.spending(language), { spent: sum, held: 0n });
    });
});

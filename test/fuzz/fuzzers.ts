/** All fuzzers by name. */
import { convertersFuzzer } from './converters.ts';
import { formsFuzzer } from './forms.ts';
import type { Fuzzer } from './fuzzer.ts';
import { httpFuzzer } from './http.ts';
import { jsonFuzzer } from './json.ts';
import { keptFuzzer } from './kept.ts';
import { manifestsFuzzer } from './manifests.ts';
import { upstreamFuzzer } from './upstream.ts';

export const FUZZERS: ReadonlyMap<string, Fuzzer> = new Map(
  [httpFuzzer, jsonFuzzer, formsFuzzer, keptFuzzer, upstreamFuzzer, manifestsFuzzer, convertersFuzzer].map((fuzzer) => [
    fuzzer.name,
    fuzzer,
  ]),
);

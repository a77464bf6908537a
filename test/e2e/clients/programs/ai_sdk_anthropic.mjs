import { createAnthropic } from '@ai-sdk/anthropic';
import { KEY, OPENAI, run } from './harness.mjs';
import { scenario } from './ai_sdk_scenario.mjs';

await run((model) => scenario(createAnthropic({ baseURL: OPENAI, apiKey: KEY })(model)));

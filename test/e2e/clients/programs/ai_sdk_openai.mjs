import { createOpenAI } from '@ai-sdk/openai';
import { KEY, OPENAI, run } from './harness.mjs';
import { scenario } from './ai_sdk_scenario.mjs';

await run((model) => scenario(createOpenAI({ baseURL: OPENAI, apiKey: KEY }).chat(model)));

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { KEY, OPENAI, run } from './harness.mjs';
import { scenario } from './ai_sdk_scenario.mjs';

await run((model) =>
  scenario(
    createOpenAICompatible({
      name: 'gateway',
      baseURL: OPENAI,
      apiKey: KEY,
      supportsStructuredOutputs: true,
      includeUsage: true,
    })(model),
  ),
);

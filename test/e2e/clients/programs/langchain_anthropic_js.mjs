import { ChatAnthropic } from '@langchain/anthropic';
import { KEY, ROOT, run } from './harness.mjs';
import { scenario } from './langchain_scenario.mjs';

await run((model) =>
  scenario(
    new ChatAnthropic({
      model,
      apiKey: KEY,
      anthropicApiUrl: ROOT,
      maxRetries: 0,
      maxTokens: 2000,
    }),
  ),
);

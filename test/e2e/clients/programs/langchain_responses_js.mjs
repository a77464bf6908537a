import { ChatOpenAI } from '@langchain/openai';
import { KEY, OPENAI, run } from './harness.mjs';
import { scenario } from './langchain_scenario.mjs';

await run((model) =>
  scenario(
    new ChatOpenAI({
      model,
      apiKey: KEY,
      configuration: { baseURL: OPENAI },
      maxRetries: 0,
      useResponsesApi: true,
    }),
  ),
);

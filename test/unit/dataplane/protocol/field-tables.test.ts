/** Each field of the official SDKs' types is in a table of the clients' readers or of the providers' responses. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import * as anthropicMessages from '../../../../dataplane/protocol/clients/anthropic/table.ts';
import * as chat from '../../../../dataplane/protocol/clients/openai-chat/table.ts';
import * as responses from '../../../../dataplane/protocol/clients/responses/table.ts';
import type { ObjectTable } from '../../../../dataplane/protocol/field-table.ts';
import * as anthropicChat from '../../../../dataplane/protocol/providers/anthropic/table.ts';
import * as openaiChat from '../../../../dataplane/protocol/providers/openai-chat/table.ts';

/** Names of an interface's own members, out of a package's types. */
function members(file: string, name: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../../../node_modules', file), 'utf8').replaceAll(
    /\/\*\*[^]*?\*\//g,
    '',
  );
  const body = new RegExp(`^export interface ${name} (?:extends [^{]+)?\\{\n([^]*?)^\\}`, 'm').exec(text)?.[1];
  assert.ok(body !== undefined, `${name} in ${file}`);
  return [...body.matchAll(/^ {4}([a-z_]+)\??:/gm)].map(([, member]) => member ?? '');
}

test('every field of the official SDKs is in a table', () => {
  const OPENAI_TYPES = 'openai/resources/chat/completions/completions.d.ts';
  const ANTHROPIC_TYPES = '@anthropic-ai/sdk/resources/messages/messages.d.ts';
  const RESPONSE_TYPES = 'openai/resources/responses/responses.d.ts';
  const BETA_TYPES = '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts';
  const places: readonly (readonly [string, string, ObjectTable])[] = [
    [OPENAI_TYPES, 'ChatCompletionCreateParamsBase', chat.REQUEST],
    [OPENAI_TYPES, 'ChatCompletionAssistantMessageParam', chat.ASSISTANT_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionMessage', chat.ASSISTANT_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionUserMessageParam', chat.USER_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionSystemMessageParam', chat.SYSTEM_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionDeveloperMessageParam', chat.SYSTEM_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionToolMessageParam', chat.TOOL_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionFunctionMessageParam', chat.TOOL_MESSAGE],
    [OPENAI_TYPES, 'ChatCompletionContentPartText', chat.TEXT_PART],
    [OPENAI_TYPES, 'ChatCompletionContentPartImage', chat.IMAGE_PART],
    [OPENAI_TYPES, 'ChatCompletionContentPartRefusal', chat.REFUSAL_PART],
    [OPENAI_TYPES, 'ChatCompletionStreamOptions', chat.STREAM_OPTIONS],
    [OPENAI_TYPES, 'ChatCompletionFunctionTool', chat.TOOL],
    [OPENAI_TYPES, 'ChatCompletionCustomTool', chat.TOOL],
    [OPENAI_TYPES, 'ChatCompletion', openaiChat.COMPLETION],
    [RESPONSE_TYPES, 'ResponseCreateParamsBase', responses.REQUEST],
    [RESPONSE_TYPES, 'ResponseOutputMessage', responses.MESSAGE],
    [RESPONSE_TYPES, 'EasyInputMessage', responses.MESSAGE],
    [RESPONSE_TYPES, 'ResponseReasoningItem', responses.REASONING],
    [RESPONSE_TYPES, 'ResponseFunctionToolCall', responses.FUNCTION_CALL],
    [RESPONSE_TYPES, 'ResponseCustomToolCall', responses.CUSTOM_CALL],
    [RESPONSE_TYPES, 'ResponseCustomToolCallOutput', responses.CALL_OUTPUT],
    [RESPONSE_TYPES, 'ResponseToolSearchCall', responses.TOOL_SEARCH_CALL],
    [RESPONSE_TYPES, 'ResponseToolSearchOutputItemParam', responses.TOOL_SEARCH_OUTPUT],
    [RESPONSE_TYPES, 'ResponseInputText', responses.TEXT_PART],
    [RESPONSE_TYPES, 'ResponseOutputText', responses.TEXT_PART],
    [RESPONSE_TYPES, 'ResponseOutputRefusal', responses.REFUSAL_PART],
    [RESPONSE_TYPES, 'ResponseInputImage', responses.IMAGE_PART],
    [RESPONSE_TYPES, 'ResponseInputFile', responses.FILE_PART],
    [RESPONSE_TYPES, 'FunctionTool', responses.FUNCTION_TOOL],
    [RESPONSE_TYPES, 'CustomTool', responses.CUSTOM_TOOL],
    [RESPONSE_TYPES, 'NamespaceTool', responses.NAMESPACE_TOOL],
    [RESPONSE_TYPES, 'ToolSearchTool', responses.TOOL_SEARCH_TOOL],
    [RESPONSE_TYPES, 'ResponseTextConfig', responses.TEXT_SETTINGS],
    [RESPONSE_TYPES, 'ResponseFormatTextJSONSchemaConfig', responses.FORMAT],
    ['openai/resources/shared.d.ts', 'Reasoning', responses.REASONING_SETTINGS],
    [ANTHROPIC_TYPES, 'MessageCreateParamsBase', anthropicMessages.REQUEST],
    [ANTHROPIC_TYPES, 'Tool', anthropicMessages.TOOL],
    [ANTHROPIC_TYPES, 'DocumentBlockParam', anthropicMessages.DOCUMENT_BLOCK],
    [BETA_TYPES, 'BetaOutputConfig', anthropicMessages.OUTPUT_CONFIG],
    [BETA_TYPES, 'BetaSystemMessageParam', anthropicMessages.MESSAGE],
    [ANTHROPIC_TYPES, 'Metadata', anthropicMessages.METADATA],
    [ANTHROPIC_TYPES, 'TextBlockParam', anthropicMessages.TEXT_BLOCK],
    [ANTHROPIC_TYPES, 'ImageBlockParam', anthropicMessages.IMAGE_BLOCK],
    [ANTHROPIC_TYPES, 'SearchResultBlockParam', anthropicMessages.SEARCH_RESULT_BLOCK],
    [ANTHROPIC_TYPES, 'ToolResultBlockParam', anthropicMessages.TOOL_RESULT_BLOCK],
    [ANTHROPIC_TYPES, 'ToolUseBlockParam', anthropicMessages.TOOL_USE_BLOCK],
    [ANTHROPIC_TYPES, 'ThinkingBlockParam', anthropicMessages.THINKING_BLOCK],
    [ANTHROPIC_TYPES, 'Message', anthropicChat.MESSAGE],
    [ANTHROPIC_TYPES, 'Usage', anthropicChat.USAGE],
    [ANTHROPIC_TYPES, 'ToolUseBlock', anthropicChat.TOOL_USE_BLOCK],
    [ANTHROPIC_TYPES, 'TextBlock', anthropicChat.TEXT_BLOCK],
  ];
  const missing = places.flatMap(([file, name, table]) =>
    members(file, name)
      .filter((member) => !table.fields.has(member))
      .map((member) => `${name}.${member}`),
  );
  // names of parameters that are headers
  assert.deepEqual(missing, []);
});

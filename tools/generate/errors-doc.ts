/** docs/reference/errors.md, out of the data plane's error table. */
import { ERRORS, type ErrorRow } from '../../dataplane/errors.ts';

const HEAD = `# Errors

Errors have the dialect of the path: Anthropic's on \`/v1/messages*\`, Google's on \`/v1beta*\` and on
\`/v1/models/{model}:generateContent\` and its like, OpenAI's everywhere else. A request with \`anthropic-version\` gets
Anthropic's on every path but Google's, except within a stream that has begun. Messages say what is wrong and how to fix
it. Every response has \`x-request-id\` and \`request-id\`, to find the call in the gateway's log.

- OpenAI: \`{"error":{"message","type","param","code"}}\`
- Anthropic: \`{"type":"error","error":{"type","message"},"request_id"}\`
- Google: \`{"error":{"code","message","status","details"}}\`: \`code\` is the HTTP status and \`status\` Google's name
  of it; \`details\` have the gateway's code in capitals (\`ErrorInfo.reason\`), the field (\`BadRequest\`), when to try
  again (\`RetryInfo\`) and the request's id. A limit that waiting does not restore has a \`QuotaFailure\`.

This page is generated from \`dataplane/errors.ts\`.
`;

const AUTHENTICATION = `
## 401: what is wrong with the key

| the request has | the message says |
|---|---|
| no header | that there is no key, and how to send it |
| \`Authorization\` without \`Bearer \`, or empty, or with nothing or a tab after \`Bearer\` | that it is no bearer key, also next to a valid \`x-api-key\` |
| an empty \`x-api-key\` or \`x-goog-api-key\` | that it holds no key |
| \`x-api-key\` or \`x-goog-api-key\` twice | that it is sent more than once; \`Authorization\` twice is a 400 |
| a key without \`sk-\` | that keys of this gateway start with \`sk-\` |
| spaces within a key, or more than one after \`Bearer\` | that it has spaces in or around it |
| different keys in two headers | that they differ |
| an incomplete, unknown, revoked or replaced key | that it is unknown |
| a disabled or expired key | that it is disabled, or has expired |
| a key that is not accepted | why: its group does not admit it, or its account does not exist |

Spaces at the beginning and at the end of a header's value are not part of the key: HTTP removes them, so the gateway
does not see them.
`;

/** The page, as it is kept in docs/. */
export function errorsText(): string {
  const rows: [string, ErrorRow][] = Object.entries(ERRORS);
  const table = rows.map(
    ([name, row]) =>
      `| \`${name}\` | ${row.status} | \`${row.openaiType}\` | ${
        row.openaiCode ? `\`${row.openaiCode}\`` : ''
      } | \`${row.anthropicType}\` | ${retry(row)} | ${row.when} |`,
  );
  return [
    HEAD,
    '| error | status | OpenAI type | OpenAI code | Anthropic type | SDKs retry | when |',
    '|---|---|---|---|---|---|---|',
    ...table,
    AUTHENTICATION,
  ].join('\n');
}

function retry(row: ErrorRow): string {
  if (row.retry === undefined) return 'as they decide';
  return row.retry ? 'yes, after `retry-after`' : 'no';
}

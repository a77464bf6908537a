/** docs/errors.md, out of the data plane's error table. */
import { ERRORS, type ErrorRow } from '../../dataplane/errors.ts';

const HEAD = `# Errors

What a caller is told, in the dialect of the path: Anthropic's on \`/v1/messages*\`, Google's on
\`/v1beta*\` and \`/v1/models/{model}:generateContent\` and the like, OpenAI's everywhere else. Messages
say what is wrong and how to mend it. Every answer carries \`x-request-id\` and \`request-id\`, by which the gateway's
log is searched.

- OpenAI: \`{"error":{"message","type","param","code"}}\`
- Anthropic: \`{"type":"error","error":{"type","message"},"request_id"}\`
- Google: \`{"error":{"code","message","status","details"}}\`: \`code\` is the HTTP status and \`status\` Google's name
  of it; \`details\` have the gateway's code in capitals (\`ErrorInfo.reason\`), the field (\`BadRequest\`), when to try
  again (\`RetryInfo\`) and the request's id. A limit that waiting does not restore has a \`QuotaFailure\`.

This page is generated from \`dataplane/errors.ts\`.
`;

const AUTHENTICATION = `
## 401: what is wrong with the key

| sent | what the message says |
|---|---|
| no header | that there is no key, and how to send it |
| \`Authorization\` without \`Bearer \` | that it is no bearer key of this gateway, also beside a good \`x-api-key\` |
| an empty header, or one header twice | that it holds no key, or is sent more than once |
| a key without \`sk-\` | that keys of this gateway start with \`sk-\` |
| spaces within a key, or two before it | that it has spaces in or around it |
| different keys in two headers | that they differ |
| an incomplete, unknown, revoked or replaced key | that it is unknown; a replaced one says so while it is remembered |
| a disabled or expired key | that it is disabled, or has expired |
| a key that is not accepted | why: its group does not admit it, or its account does not exist |

Spaces at the end of a header, and the first one after the header's colon or after \`Bearer\`, are no part of its value:
HTTP strips them on the way, so that the gateway cannot see them and answers as if they had not been sent.
`;

/** The page, as it is kept in docs/. */
export function errorsText(): string {
  const rows: [string, ErrorRow][] = Object.entries(ERRORS);
  const table = rows.map(([name, row]) => `| \`${name}\` | ${row.status} | \`${row.openaiType}\` | ${row.openaiCode
    ? `\`${row.openaiCode}\``
    : ''} | \`${row.anthropicType}\` | ${retry(row)} | ${row.when} |`);
  return [HEAD, '| error | status | OpenAI type | OpenAI code | Anthropic type | SDKs retry | when ' +
    '|', '|---|---|---|---|---|---|---|', ...table, AUTHENTICATION].join('\n');
}

function retry(row: ErrorRow): string {
  if (row.retry === undefined) return 'by their own rules';
  return row.retry ? 'yes, after `retry-after`' : 'no';
}

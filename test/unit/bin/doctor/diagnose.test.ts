/** The meaning of clouds' responses for a channel. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { diagnose, isFault } from '../../../../bin/doctor/diagnose.ts';

describe("a provider's answer", () => {
  for (const [status, code, message, problem] of [
    [401, 'invalid_api_key', 'Incorrect API key provided', 'Credential'],
    [403, 'UnrecognizedClientException', 'The security token included in the request is invalid.', 'Credential'],
    [403, 'InvalidSignatureException', 'Credential should be scoped to a valid region.', 'Region'],
    [403, 'AccessDeniedException', "You don't have access to the model with the specified model ID.", 'Model'],
    [400, 'ValidationException', 'The provided model identifier is invalid.', 'Model'],
    [
      400,
      'ValidationException',
      "Invocation of model ID anthropic.claude with on-demand throughput isn't supported.",
      'Region',
    ],
    [400, 'ValidationException', 'invalid beta flag', 'Betas'],
    [400, 'invalid_request_error', 'Unexpected value(s) `x` for the `anthropic-beta` header', 'Betas'],
    [404, 'DeploymentNotFound', 'The API deployment for this resource does not exist.', 'Model'],
    [404, 'NOT_FOUND', 'Publisher Model `projects/p/models/m` was not found', 'Model'],
    [404, 'model_not_found', 'The model `gpt-x` does not exist', 'Model'],
    [404, '', 'Resource not found', 'Address'],
    [404, 'BadRequest', 'API version not supported', 'Address'],
    [307, '', '', 'Address'],
    [402, '', 'Your credit balance is too low', 'Credential'],
    [400, 'invalid_request_error', 'messages: too short', 'Request'],
    [429, 'ThrottlingException', 'Too many tokens', 'RateLimited'],
    [503, '', '', 'Unavailable'],
    [400, '', 'Could not finish the message because max_tokens or model output limit was reached.', undefined],
  ] as const)
    it(`${status} ${code} ${message} means ${problem ?? 'no problem'}`, () => {
      assert.equal(diagnose({ status, code, message }).problem, problem);
    });
  it('names a redirect', () => {
    for (const status of [301, 304, 307, 308]) {
      const { problem, message } = diagnose({ status, code: '', message: '' });
      assert.equal(problem, 'Address');
      assert.match(message, /responds with a redirect, .*check baseUrl/);
    }
  });
  it('is not a fault of the configuration if it may be temporary', () => {
    for (const [status, fault] of [
      [429, false],
      [500, false],
      [401, true],
      [400, true],
    ] as const)
      assert.equal(isFault(diagnose({ status, code: '', message: '' })), fault);
  });
});

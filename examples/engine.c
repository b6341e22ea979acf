/* The engine from C: load two GGUF files, ask a question about a picture that lies in memory, print the
 * answer as it comes and what each stage kept. Ctrl-C stops cleanly. Build it against the installed package
 * (examples/CMakeLists.txt). */
#include <clasp/clasp_engine.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static clasp_cancel* cancel = NULL;

static void on_interrupt(int number) {
    (void)number;
    clasp_cancel_request(cancel);
}

static void print_warning(clasp_log_level level, const char* message, void* user) {
    (void)user;
    if (level >= CLASP_LOG_WARNING) fprintf(stderr, "warning: %s\n", message);
}

/* Anything else than 0 would stop the answer here. */
static int print_text(const char* text, size_t length, void* user) {
    fwrite(text, 1, length, (FILE*)user);
    fflush((FILE*)user);
    return 0;
}

static int failed(const char* what, const clasp_error* error) {
    fprintf(stderr, "%s: %s: %s\n", what, clasp_code_name(error->code), error->message);
    return error->code == CLASP_CANCELLED ? 130 : 1;
}

/* The whole file, or NULL. The caller frees it. */
static void* read_file(const char* path, size_t* size) {
    FILE* file = fopen(path, "rb");
    if (file == NULL) return NULL;
    void* bytes = NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        const long length = ftell(file);
        rewind(file);
        if (length > 0) bytes = malloc((size_t)length);
        if (bytes != NULL && fread(bytes, 1, (size_t)length, file) != (size_t)length) {
            free(bytes);
            bytes = NULL;
        }
        *size = bytes != NULL ? (size_t)length : 0;
    }
    fclose(file);
    return bytes;
}

static void print_answer(const clasp_answer* answer) {
    const clasp_token_counts tokens = clasp_answer_tokens(answer);
    printf("\n%s (by %s): %.1f of %zu visual tokens per layer, %.0f ms to the first token\n",
           clasp_answer_class_name(answer), clasp_answer_class_by(answer), tokens.average, tokens.visual,
           clasp_answer_timings(answer).first_token_ms);
    for (size_t stage = 0; stage < clasp_answer_stage_count(answer); ++stage) {
        size_t n_kept = 0;
        size_t n_pivots = 0;
        clasp_answer_stage_kept(answer, stage, &n_kept);
        clasp_answer_stage_pivots(answer, stage, &n_pivots);
        printf("layer %zu keeps %zu tokens, %zu of them pivots\n", clasp_answer_stage_layer(answer, stage),
               n_kept, n_pivots);
    }
}

int main(int argc, char** argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: %s MODEL.gguf MMPROJ.gguf IMAGE QUESTION\n", argv[0]);
        return 2;
    }
    clasp_error error;
    if (clasp_cancel_create(&cancel, &error)) return failed("cancel", &error);
    signal(SIGINT, on_interrupt);

    clasp_setup* setup = NULL;
    if (clasp_setup_create(&setup, &error)) return failed("setup", &error);
    clasp_setup_log(setup, print_warning, NULL);
    if (clasp_setup_set(setup, "model", argv[1], &error)) return failed("setup", &error);
    if (clasp_setup_set(setup, "mmproj", argv[2], &error)) return failed("setup", &error);
    clasp_engine* engine = NULL;
    if (clasp_engine_load(setup, &engine, &error)) return failed("load", &error);
    clasp_setup_destroy(setup);

    size_t n_bytes = 0;
    void* picture = read_file(argv[3], &n_bytes);
    if (picture == NULL) {
        fprintf(stderr, "%s cannot be read\n", argv[3]);
        return 1;
    }
    clasp_request* request = NULL;
    if (clasp_request_create(argv[4], &request, &error)) return failed("request", &error);
    if (clasp_request_add_bytes(request, picture, n_bytes, &error)) return failed("request", &error);
    if (clasp_request_set(request, "budget", "64", &error)) return failed("request", &error);
    clasp_request_on_text(request, print_text, stdout);
    clasp_request_cancel_with(request, cancel);
    clasp_answer* answer = NULL;
    int code = 0;
    if (clasp_engine_ask(engine, request, &answer, &error)) {
        code = failed("ask", &error);
    } else {
        print_answer(answer);
        code = clasp_answer_was_cancelled(answer) ? 130 : 0;
    }

    clasp_answer_destroy(answer);
    clasp_request_destroy(request);
    clasp_engine_destroy(engine);
    clasp_cancel_destroy(cancel);
    free(picture);
    return code;
}

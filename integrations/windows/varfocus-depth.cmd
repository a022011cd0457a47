@echo off
rem Put this file into the folder that opens with Win+R, shell:sendto. Then: select the frames of a
rem stack, right button, Send to, varfocus-depth. The results go into a folder beside the frames.
if "%~1"=="" (
    echo No files are selected.
    pause
    exit /b 2
)
varfocus depth --by-name %* -o "%~dp1depth-%~n1"
if errorlevel 1 pause
